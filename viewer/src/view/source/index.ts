// Source: the lines of the program that asked for something, with the time and the memory that each of them cost.

import { effect } from '@preact/signals-core';
import { html, nothing, render } from 'lit-html';
import type { Line as Cost } from '../../analysis/types';
import * as f from '../../format';
import { analysis, focus, query, select, show } from '../../state';
import { word } from '../../trace/columns';
import { EDITORS, editorLink, placeOf, type Place } from '../../trace/source';
import type { Trace } from '../../trace/model';
import { choice, editor } from '../../ui/editor';
import type { View } from '../../ui/shell';
import { DataTable } from '../../ui/table';

/** The operation of a line that stands for it: the one with the longest launch. */
function heaviest(t: Trace, callSite: string): number {
  const code = t.ops.call_site.words.indexOf(callSite);
  let [best, most] = [-1, -1];
  for (let row = 0; row < t.ops.rows; row++) {
    if (t.ops.call_site.codes[row] !== code) continue;
    const launch = t.launchOfOp[row]!;
    const time = launch < 0 ? 0 : t.launches.end_ns[launch]! - t.launches.start_ns[launch]!;
    if (time > most) [best, most] = [row, time];
  }
  return best;
}

function table(t: Trace, lines: Cost[]): DataTable {
  const at = (r: number) => lines[r]!;
  return new DataTable('Lines', [
    { title: 'Line', tail: true, text: (r) => at(r).call_site, width: 2.6 },
    { title: 'Time', text: (r) => f.time(at(r).time_ns), key: (r) => at(r).time_ns, right: true },
    { title: 'Share', text: (r) => f.percent(at(r).share, 1), key: (r) => at(r).share, right: true, bar: (r) => at(r).share },
    { title: 'Operations', text: (r) => f.count(at(r).ops), key: (r) => at(r).ops, right: true },
    { title: 'Moved', text: (r) => f.bytes(at(r).bytes), key: (r) => at(r).bytes, right: true },
    { title: 'Allocated', text: (r) => f.bytes(at(r).allocated), key: (r) => at(r).allocated, right: true },
    { title: 'At the peak', hint: 'What its arrays held when most memory was held', text: (r) => f.bytes(at(r).at_peak), key: (r) => at(r).at_peak, right: true },
  ], (r) => select('op', heaviest(t, at(r).call_site)), { sort: 1 }).set(lines.map((_, i) => i), f.plural(lines.length, 'line'));
}

export const source: View = {
  panel: true,
  analysed: true,
  open(host, t) {
    const lines = analysis.peek()?.lines ?? [];
    const costs = new Map(lines.map((line) => [line.call_site, line]));
    const list = table(t, lines);
    const text = document.createElement('section');
    text.className = 'panel listing';
    const columns = document.createElement('div');
    columns.className = 'columns';
    columns.append(list.element, text);
    host.append(columns);
    let shown = '';

    const draw = (callSite: string, place: Place | null) => {
      const file = place && t.manifest.sources.find((source) => source.file === place.file);
      const link = place && editorLink(t.manifest, place, editor.value);
      const most = Math.max(...lines.filter((line) => placeOf(line.call_site)?.file === place?.file).map((line) => line.time_ns), 1);
      const row = (number: number, content: string) => {
        const cost = costs.get(`${place!.file}:${number}`);
        const select_ = () => cost && select('op', heaviest(t, cost.call_site));
        return html`<div class=${`row${number === place!.line ? ' here' : ''}${cost ? ' asks' : ''}`} @click=${select_} title=${cost ? `${f.plural(cost.ops, 'operation')}, ${f.time(cost.time_ns)}, ${f.bytes(cost.allocated)} allocated` : ''}>
          <span class="cost" .style=${cost ? `--part:${(100 * cost.time_ns) / most}%` : ''}>${cost ? f.time(cost.time_ns) : ''}</span><span class="held">${cost && cost.allocated > 0 ? f.bytes(cost.allocated) : ''}</span><i>${number}</i><code>${content}</code></div>`;
      };
      render(html`<header><h2>${place ? place.file : 'Source'}</h2>
          ${callSite ? html`<button class="small" title="Mark everything this line asked for" @click=${() => { query.value = callSite; show('timeline'); }}>In the timeline</button>` : nothing}
          ${link ? html`<a class="button small" href=${link}>Open line ${place!.line} in ${EDITORS[editor.value]}</a>` : nothing}${choice()}</header>
        <div class="fill">${file ? html`<div class="row head"><span class="cost">time</span><span class="held">memory</span><i></i><code></code></div>${file.parts.map((part, i) => html`${i > 0 ? html`<div class="row gap">⋯</div>` : nothing}${part.lines.map((content, j) => row(part.first + j, content))}`)}`
          : html`<p class="muted empty-row">${!place ? 'Select a line or an operation to see its source.' : t.manifest.sources.length > 0 ? 'The lines of this file are not in the trace: it was not found when the capture ended.' : 'This trace has no source: it was captured without it, or by an older version.'}</p>`}</div>`, text);
      if (callSite !== shown) text.querySelector('.here')?.scrollIntoView({ block: 'center' });
      shown = callSite;
    };
    return effect(() => {
      const { op } = focus.value;
      const callSite = op >= 0 ? word(t.ops.call_site, op) : (lines[0]?.call_site ?? '');
      editor.value;
      list.mark(lines.findIndex((line) => line.call_site === callSite));
      draw(callSite, placeOf(callSite));
    });
  },
};
