// The list of shortcuts.

import { html } from 'lit-html';

const KEYS: [string, string][] = [
  ['1 … 8', 'views'], ['/', 'search; Enter and Shift+Enter walk through the matches'], ['n  N', 'next and previous match'],
  ['Esc', 'clear the selection'], ['I', 'fold or unfold the panel of the selection'], ['Alt ←', 'back to the view and selection before'], ['W  S', 'zoom in and out (timeline, graph, memory)'], ['A  D', 'move left and right'],
  ['← → ↑ ↓', 'neighbours of the selection: earlier, later, producer or stream above, reader or stream below'], ['Home', 'everything in sight'],
  ['F', 'bring the selection into sight'], ['P  R', 'timeline: longest chain; totals of what is in sight (or drag with Shift)'], ['wheel', 'zoom at the pointer; with Shift move; over the names scroll streams'], ['drag', 'move; with two fingers zoom'], ['Page keys', 'scroll streams (timeline), the graph'], ['T', 'light or dark'],
  ['O  C', 'open a trace, compare with a second one'], ['?', 'this list'],
];

export const HELP = html`<form method="dialog">
  <h2>Keyboard and mouse</h2>
  <dl class="keys">${KEYS.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl>
  <p class="muted">Tables: ↑ ↓ Page keys Home End move, a click on a title sorts, Copy gives tab-separated text.</p>
  <button class="primary">Close</button>
</form>`;
