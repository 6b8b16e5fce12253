// Lines of the program's source, as far as the trace has them, and links that open an editor there.

import type { Manifest } from './manifest';

export interface Place {
  file: string;
  line: number;
}

/** `file:line`; a name without a line is no place. */
export function placeOf(callSite: string): Place | null {
  const match = /^(.+):(\d{1,9})$/.exec(callSite);
  return match ? { file: match[1]!, line: Number(match[2]) } : null;
}

export interface Line {
  number: number;
  text: string;
}

/** The lines around a place, `reach` on both sides, as far as they are there. */
export function linesAround(manifest: Manifest, { file, line }: Place, reach: number): Line[] {
  const lines: Line[] = [];
  for (const part of manifest.sources.find((source) => source.file === file)?.parts ?? []) {
    part.lines.forEach((text, i) => {
      const number = part.first + i;
      if (Math.abs(number - line) <= reach) lines.push({ number, text });
    });
  }
  return lines;
}

export const EDITORS = {
  vscode: 'VS Code', cursor: 'Cursor', zed: 'Zed', idea: 'JetBrains',
} as const;
export type Editor = keyof typeof EDITORS;

/** An address that opens an editor at a place, or '' where the file's path is not known. */
export function editorLink(manifest: Manifest, { file, line }: Place, editor: Editor): string {
  const path = manifest.sources.find((source) => source.file === file)?.path.replaceAll('\\', '/') ?? '';
  if (!/^(\/|[A-Za-z]:\/)/.test(path)) return '';
  const rooted = path.startsWith('/') ? path : `/${path}`;
  if (editor === 'idea') return `idea://open?file=${encodeURIComponent(path)}&line=${line}`;
  return `${editor}://file${rooted.split('/').map(encodeURIComponent).join('/')}:${line}`;
}
