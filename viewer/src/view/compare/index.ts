// Compare: a second trace beside the first: what changed in structure, time, memory and numbers.

import { effect } from '@preact/signals-core';
import { html, nothing, render } from 'lit-html';
import { colour, theme } from '../../colour';
import * as f from '../../format';
import { comparison, other, refusal, select, show } from '../../state';
import type { Trace } from '../../trace/model';
import { Surface } from '../../ui/canvas';
import { pick } from '../../ui/load';
import type { View } from '../../ui/shell';
import { curveOf } from '../timeline';
import { Pairs } from './pairs';
import { commonRegions, Timelines } from './timelines';
import { kernelDifferences, numbers, regionDifferences, structure, totals } from './tables';

/** Both memory curves over the same axis, each from its own start. */
function drawMemory({ context: c, width, height }: Surface, traces: [Trace, Trace]): void {
  const span = Math.max(...traces.map((t) => t.end - t.begin));
  const most = Math.max(...traces.map((t) => t.manifest.memory.peak), 1) * 1.1;
  c.font = '12px system-ui, sans-serif';
  c.textBaseline = 'middle';
  traces.forEach((t, i) => {
    const name = i === 0 ? 'active' : 'kind-matmul';
    const last = Math.round(((t.end - t.begin) / span) * width);
    c.strokeStyle = colour(name);
    c.lineWidth = 1.6;
    c.beginPath();
    curveOf(t).pixels(t.begin, span / width, last, (x, active) => {
      const y = height - 4 - (active / most) * (height - 26);
      if (x === 0) c.moveTo(x, y);
      else c.lineTo(x, y);
    });
    c.stroke();
    c.fillStyle = colour(name);
    c.fillText(`${i === 0 ? 'first' : 'second'}: peak ${f.bytes(t.manifest.memory.peak)}`, 10 + i * 190, 11);
  });
  c.lineWidth = 1;
}

export const compare: View = {
  panel: false,
  open(host, a) {
    let draw = () => {};
    const stop = effect(() => {
      const [b, diff] = [other.value, comparison.value];
      theme.value;
      if (!b) {
        render(html`<section class="empty"><h1>Compare with a second trace</h1><p>Drop it here, or <button class="primary" @click=${() => pick(true)}>choose a file</button></p>
          <p class="muted">Structure, time, memory and numbers are compared; the open trace is the first.</p></section>`, host);
        return;
      }
      const wide = (element: HTMLElement) => {
        element.classList.add('wide');
        return element;
      };
      const chart = document.createElement('div');
      chart.className = 'surface chart';
      const toTensor = (array: number) => show('tensor', 'op', a.arrays.row(array));
      const both = document.createElement('div');
      both.className = 'surface both';
      const regions = commonRegions(a, b);
      let aligned = (_: string) => {};
      render(html`<div class="tools"><span><span class="muted">first</span> <b>${a.name}</b></span><span class="muted">→</span><span><span class="muted">second</span> <b>${b.name}</b></span>
          <button class="small" @click=${() => pick(true)}>Another second trace</button><button class="small" @click=${() => (other.value = null)}>Close the second</button></div>
        <div class="compare">
          <section class="panel wide"><header><h2>Timelines</h2>${diff?.runs?.length ? html`<span class="muted">red: only here</span>` : nothing}
            ${regions.length > 0 ? html`<label>Aligned at <select @change=${(event: Event) => aligned((event.target as HTMLSelectElement).value)}><option value="">the beginning</option>${regions.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>` : nothing}</header>${both}</section>
          ${diff ? totals(diff).element : html`<p class="error-text" role="alert">${refusal.value}</p>`}
          <section class="panel"><header><h2>Memory over time</h2></header>${chart}</section>
          ${diff ? wide(kernelDifferences(diff).element) : nothing}
          ${a.regions.length + b.regions.length > 0 ? wide(regionDifferences(a, b).element) : nothing}
          ${diff ? html`${wide(structure(diff).element)} ${wide(numbers(diff, toTensor).element)}` : nothing}
        </div>`, host);
      const surface = new Surface(chart, (s) => drawMemory(s, [a, b]), 'Active memory of both traces');
      const pairs = new Pairs(diff?.runs ?? []);
      const timelines = new Timelines(both, [a, b], pairs, (picked) => {
        const first = picked.side === 0 ? picked : timelines.counterpart(picked);
        if (first) select('launch', first.launch);
      });
      aligned = (name) => timelines.align(name);
      draw = () => {
        surface.draw();
        timelines.surface.draw();
      };
    });
    draw();
    return stop;
  },
};
