// Which editor links open; chosen once, kept by the browser.

import { signal } from '@preact/signals-core';
import { html, nothing, type TemplateResult } from 'lit-html';
import { EDITORS, editorLink, linesAround, placeOf, type Editor } from '../trace/source';
import type { Trace } from '../trace/model';

function readChoice(): Editor {
  try {
    const value = localStorage.getItem('pellucid-editor');
    return value && Object.hasOwn(EDITORS, value) ? (value as Editor) : 'vscode';
  } catch {
    return 'vscode'; // Storage may be switched off.
  }
}

export const editor = signal<Editor>(readChoice());

export function choice(): TemplateResult {
  const change = (event: Event) => {
    editor.value = (event.target as HTMLSelectElement).value as Editor;
    try {
      localStorage.setItem('pellucid-editor', editor.value);
    } catch {
      // It holds until the page is closed.
    }
  };
  return html`<label>Editor <select @change=${change}>${Object.entries(EDITORS).map(([key, name]) => html`<option value=${key} ?selected=${editor.value === key}>${name}</option>`)}</select></label>`;
}

/** A call site: a link to the editor where the file is known, with the lines around it where the trace has them. */
export function callSite(t: Trace, text: string): TemplateResult {
  const place = placeOf(text);
  const link = place && editorLink(t.manifest, place, editor.value);
  const lines = place ? linesAround(t.manifest, place, 2) : [];
  return html`${link ? html`<a class="site" href=${link} title=${`Open in ${EDITORS[editor.value]}`}><code>${text}</code></a>` : html`<code>${text}</code>`}
    ${lines.length > 0 ? html`<pre class="snippet">${lines.map(({ number, text: line }) => html`<span class=${number === place!.line ? 'here' : ''}><i>${number}</i>${line}\n</span>`)}</pre>` : nothing}`;
}
