// Source with highlighting. Prism only splits the text into tokens; the page is built from text nodes, so that
// nothing in a source can become markup.

import './prism-global';
import 'prismjs/components/prism-wgsl';
import 'prismjs/components/prism-clike';
import 'prismjs/components/prism-c';
import 'prismjs/components/prism-cpp';
import Prism from 'prismjs/components/prism-core';

type Piece = string | { type: string; content: Piece | Piece[] };

const LANGUAGES: Record<string, string> = { wgsl: 'wgsl', msl: 'cpp', metal: 'cpp', hlsl: 'cpp', glsl: 'c' };
/** Longer sources are shown plainly: colours are not worth a frozen page. */
const MAX_LENGTH = 200_000;

/** One element per line. */
export function highlight(source: string, extension: string): HTMLElement[] {
  const lines: HTMLElement[] = [document.createElement('div')];
  const put = (text: string, type: string) => {
    text.split('\n').forEach((part, i) => {
      if (i > 0) lines.push(document.createElement('div'));
      if (!part) return;
      if (!type) return lines.at(-1)!.append(part);
      const span = document.createElement('span');
      span.className = type;
      span.textContent = part;
      lines.at(-1)!.append(span);
    });
  };
  const walk = (pieces: Piece | Piece[], type: string): void => {
    if (typeof pieces === 'string') put(pieces, type);
    else if (Array.isArray(pieces)) pieces.forEach((piece) => walk(piece, type));
    else walk(pieces.content, pieces.type);
  };
  const grammar = source.length <= MAX_LENGTH ? Prism.languages[LANGUAGES[extension] ?? ''] : undefined;
  walk(grammar ? (Prism.tokenize(source, grammar) as Piece[]) : source, '');
  return lines;
}
