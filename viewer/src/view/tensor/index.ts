// Tensor: statistics of every array that has them, and the elements of those whose data is in the file.

import { effect } from '@preact/signals-core';
import { html, nothing, render } from 'lit-html';
import { kindVariable, theme } from '../../colour';
import * as f from '../../format';
import { comparison, focus, marks, other, select } from '../../state';
import { word } from '../../trace/columns';
import { dtypesOf, opLabel, shapesOf, type Trace } from '../../trace/model';
import { Surface } from '../../ui/canvas';
import { follow } from '../../ui/gesture';
import type { View } from '../../ui/shell';
import { DataTable } from '../../ui/table';
import { showTip } from '../../ui/tooltip';
import { type Elements, elementsOf, hasAll, sourceOf } from '../../values';
import { Pairs } from '../compare/pairs';
import { readNpy, statistics, type Statistics, type Tensor } from './npy';
import { binAt, drawHeat, drawHistogram, type Heat, type HeatOptions, type Mode } from './plots';

/** Operations with statistics or data, by row. */
function rowsOf(t: Trace): Int32Array {
  if (hasAll(t)) return Int32Array.from({ length: t.ops.rows }, (_, row) => row);
  const rows = new Set<number>();
  for (let i = 0; i < t.stats.rows; i++) rows.add(t.arrays.row(t.stats.array[i]!));
  for (const id of t.tensors) rows.add(t.arrays.row(id));
  rows.delete(-1);
  return Int32Array.from(rows).sort();
}

function table(t: Trace, faults: Set<number>): DataTable {
  const stat = (row: number) => t.statOfArray.row(t.ops.id[row]!);
  const number = (column: Float64Array) => ({ text: (r: number) => (stat(r) < 0 ? '' : Number.isNaN(column[stat(r)]!) ? '–' : f.real(column[stat(r)]!)), key: (r: number) => (stat(r) < 0 ? NaN : column[stat(r)]!), right: true });
  const faulty = (column: Float64Array) => ({ ...number(column), mark: (r: number) => (stat(r) >= 0 && column[stat(r)]! > 0 ? 'bad' : '') });
  return new DataTable('Arrays', [
    { title: 'Array', text: (r) => `#${t.ops.id[r]}`, key: (r) => t.ops.id[r]!, right: true },
    { title: 'Made by', text: (r) => opLabel(t, r), swatch: (r) => kindVariable(t.kindOfOp[r]!), mark: (r) => (faults.has(r) ? 'bad' : ''), width: 1.7 },
    { title: 'Shape', text: (r) => `[${(shapesOf(t, r)[0] ?? []).join(', ')}]`, width: 1.3 },
    { title: 'Type', text: (r) => dtypesOf(t, r)[0] ?? '', width: 1.1 },
    { title: 'NaN', ...faulty(t.stats.nan) },
    { title: 'Inf', ...faulty(t.stats.inf) },
    { title: 'Min', ...number(t.stats.min), width: 1.3 },
    { title: 'Max', ...number(t.stats.max), width: 1.3 },
    { title: 'Mean', ...number(t.stats.mean), width: 1.4 },
    { title: 'Zero', ...number(t.stats.zero) },
    { title: 'Data', hint: 'Where the elements come from', text: (r) => sourceOf(t, t.ops.id[r]!) ?? '', key: (r) => (sourceOf(t, t.ops.id[r]!) ? 1 : 0) },
    { title: 'Hash', text: (r) => (stat(r) < 0 ? '' : word(t.stats.hash, stat(r))), width: 2 },
  ], (row) => select('op', row), { sort: 0, descending: false });
}

interface Shown {
  op: number;
  tensor: Tensor | null;
  stats: Statistics | null;
  options: HeatOptions;
  error: string;
  /** What was taken off: an array of this trace or of the second. */
  against?: string;
  /** How the elements were had. */
  elements?: Elements;
  /** Elements are on their way. */
  waiting?: boolean;
}

const MODES: [Mode, string][] = [['values', 'Values'], ['faults', 'NaN map'], ['image', 'Image'], ['wave', 'Curve']];

/** Everything in sight, by value. */
const whole = (): HeatOptions => ({ slice: { rowAxis: -1, columnAxis: -1, index: [] }, mode: 'values', scale: 1, row: 0, column: 0 });

/** Where elements that are not in the trace come from. */
function origin({ from, exact }: Elements): string {
  if (from === 'page') return 'These elements came with the page: the trace was run again when it was written.';
  const bits = exact === true ? 'They have the recorded bits.' : exact === false ? 'They do not have the recorded bits: another device, or a change of the library.' : 'The recording has no figures to compare them with.';
  return `The trace was run again for these elements. ${bits}`;
}

/** The difference of two arrays of one shape, element by element. */
function differenceOf(a: Tensor, b: Tensor): Tensor {
  return { ...a, dtype: `${a.dtype} − ${b.dtype}`, at: (i) => a.at(i) - b.at(i) };
}

export const tensor: View = {
  panel: true,
  analysed: true,
  open(host, t) {
    const rows = rowsOf(t);
    if (rows.length === 0) {
      render(html`<p class="muted empty-row">This trace was captured in mode ${t.manifest.mode || 'timeline'}: it holds neither statistics nor data. Capture with mode stats, replay or full.</p>`, host);
      return () => {};
    }
    const producers = marks.peek()?.made ?? [];
    const list = table(t, new Set(producers)).set(rows, f.plural(rows.length, 'array'));
    const right = document.createElement('div');
    right.className = 'tensor';
    const columns = document.createElement('div');
    columns.className = 'columns';
    columns.append(list.element, right);
    host.append(columns);
    let shown: Shown = { op: -1, tensor: null, stats: null, options: whole(), error: '' };
    let heat: Heat | null = null;
    let [log, bin] = [false, -1];
    /** The array that others are compared with. */
    let pinned: { op: number; tensor: Tensor } | null = null;
    /** Whether arrays are compared with their counterparts in the second trace. */
    let second = other.peek() !== null && comparison.peek() !== null;
    const pairs = new Pairs(comparison.peek()?.runs ?? []);
    /** The same array in the second trace. */
    const counterpart = (op: number): { t: Trace; op: number } | null => {
      const [t, row] = [other.peek(), pairs.second(op)];
      return t && row >= 0 ? { t, op: row } : null;
    };
    const box = (name: string) => {
      const element = document.createElement('div');
      element.className = name;
      return element;
    };
    const [top, histogramBox, heatBox] = [box(''), box('surface histogram'), box('surface heat')];
    const controls = document.createElement('div');
    controls.className = 'sliders';
    right.append(top, histogramBox, controls, heatBox);
    const histogram = new Surface(histogramBox, (s) => drawHistogram(s, shown.stats, log, bin), 'Histogram');
    const map = new Surface(heatBox, (s) => {
      if (shown.tensor && shown.stats) heat = drawHeat(s, shown.tensor, shown.stats, shown.options, theme.value === 'dark');
    }, 'Heat map');
    const redraw = () => {
      histogram.draw();
      map.draw();
    };
    histogram.canvas.onmousemove = (event) => {
      const { stats } = shown;
      const next = stats && Number.isFinite(stats.min) ? binAt(histogram.at(event)[0], histogram.width, stats) : -1;
      if (next !== bin) {
        bin = next;
        histogram.draw();
      }
      if (!stats || bin < 0) return showTip(null, 0, 0);
      const step = (stats.max - stats.min) / stats.histogram.length;
      const count = stats.histogram[bin]!;
      showTip({ title: f.plural(count, 'element'), lines: [['from', f.real(stats.min + bin * step)], ['to', f.real(stats.min + (bin + 1) * step)], ['share', f.percent(count, shown.tensor?.size ?? 0)]] }, event.clientX, event.clientY);
    };
    histogram.canvas.onmouseleave = () => {
      bin = -1;
      histogram.draw();
      showTip(null, 0, 0);
    };
    const zoom = (factor: number, x: number, y: number) => {
      const { options } = shown;
      if (!heat) return;
      const [row, column] = [heat.row + (y - heat.y) / heat.cell, heat.column + (x - heat.x) / heat.cell];
      const before = options.scale;
      options.scale = Math.max(1, Math.min(4096, before * factor));
      const by = before / options.scale;
      options.row = row - (row - heat.row) * by;
      options.column = column - (column - heat.column) * by;
      map.draw();
    };
    map.canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      zoom(Math.exp(-Math.max(-1, Math.min(1, event.deltaY * 0.003))), ...map.at(event));
    }, { passive: false });
    follow(map.canvas, {
      tap: () => {},
      pinch: zoom,
      pan(dx, dy) {
        if (!heat) return;
        shown.options.row = heat.row - dy / heat.cell;
        shown.options.column = heat.column - dx / heat.cell;
        map.draw();
      },
    });
    map.canvas.addEventListener('keydown', (event) => {
      const step = { w: 1.5, s: 1 / 1.5 }[event.key];
      const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (step) zoom(step, map.width / 2, map.height / 2);
      else if (move && heat) {
        shown.options.row = heat.row + move[0]! * Math.max(1, heat.rows / 8);
        shown.options.column = heat.column + move[1]! * Math.max(1, heat.columns / 8);
        map.draw();
      } else if (event.key === 'Home') {
        shown.options.scale = 1;
        map.draw();
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
    map.canvas.onmousemove = (event) => {
      const [x, y] = map.at(event);
      const [row, column] = heat ? [Math.floor((y - heat.y) / heat.cell), Math.floor((x - heat.x) / heat.cell)] : [-1, -1];
      if (!heat || !shown.tensor || row < 0 || column < 0 || row >= heat.rows || column >= heat.columns) return showTip(null, 0, 0);
      const { slice } = shown.options;
      const index = shown.tensor.shape.map((_, axis) => (axis === slice.rowAxis ? heat!.row + row : axis === slice.columnAxis ? heat!.column + column : (slice.index[axis] ?? 0)));
      showTip({ title: f.real(shown.tensor.at(heat.position(row, column))), lines: [['index', `[${index.join(', ')}]`], ['exactly', String(shown.tensor.at(heat.position(row, column)))]] }, event.clientX, event.clientY);
    };
    map.canvas.onmouseleave = () => showTip(null, 0, 0);

    const drawControls = () => {
      const { tensor: data, options } = shown;
      heatBox.hidden = !data || data.size === 0;
      controls.hidden = heatBox.hidden;
      if (!data) return;
      const { slice } = options;
      const change = () => {
        drawControls();
        map.draw();
      };
      const axisChoice = (name: string, key: 'rowAxis' | 'columnAxis', otherKey: 'rowAxis' | 'columnAxis') => html`<label>${name} <select @change=${(e: Event) => {
        const axis = Number((e.target as HTMLSelectElement).value);
        if (slice[otherKey] === axis) slice[otherKey] = slice[key];
        slice[key] = axis;
        change();
      }}>${data.shape.map((size, axis) => html`<option value=${axis} ?selected=${slice[key] === axis}>axis ${axis} (${size})</option>`)}</select></label>`;
      render(html`<h2>Elements</h2>
        <span class="group" role="group" aria-label="How elements are shown">${MODES.map(([mode, name]) => html`<button aria-pressed=${String(options.mode === mode)} @click=${() => { options.mode = mode; change(); }}>${name}</button>`)}</span>
        <button aria-pressed=${String(log)} title="Heights of the histogram by logarithm" @click=${() => { log = !log; change(); histogram.draw(); }}>Log</button>
        <button aria-pressed=${String(pinned !== null)} title="Compare arrays of the same shape with this one" @click=${() => { pinned = pinned ? null : { op: shown.op, tensor: data }; change(); drawTop(); void load(shown.op); }}>${pinned ? 'Stop comparing' : 'Compare with this'}</button>
        ${counterpart(shown.op) && !pinned ? html`<button aria-pressed=${String(second)} title="The second trace's elements minus these" @click=${() => { second = !second; void load(shown.op); }}>Difference to the second trace</button>` : nothing}
        ${data.shape.length > 1 ? html`${axisChoice('down', 'rowAxis', 'columnAxis')} ${axisChoice('across', 'columnAxis', 'rowAxis')}` : nothing}
        ${data.shape.map((size, axis) => (axis === slice.rowAxis || axis === slice.columnAxis ? nothing : html`<label>axis ${axis} <input type="range" min="0" max=${size - 1} .value=${String(slice.index[axis])} aria-label=${`Position along axis ${axis}`}
          @input=${(e: Event) => { slice.index[axis] = Number((e.target as HTMLInputElement).value); change(); }} /> <span>${slice.index[axis]} of ${size}</span></label>`))}
        <span class="legend"><span><i class="swatch" .style=${'background:rgb(214,0,170)'}></i>NaN</span><span><i class="swatch" .style=${'background:rgb(255,166,0)'}></i>Inf</span>${options.mode === 'faults' ? html`<span><i class="swatch" .style=${'background:rgb(130,140,152)'}></i>zero</span>` : nothing}</span>`, controls);
    };
    const drawTop = () => {
      const { op, stats, error } = shown;
      if (op < 0) {
        render(html`<p class="muted">Select an array to see what is in it.${producers.length > 0 ? html` NaN or Inf first appears in <button class="link" @click=${() => select('op', producers[0]!)}>${opLabel(t, producers[0]!)} #${t.ops.id[producers[0]!]}</button>.` : nothing}</p>`, top);
        return;
      }
      const row = t.statOfArray.row(t.ops.id[op]!);
      const s = t.stats;
      const figure = (name: string, value: string, bad = false) => html`<div class=${bad ? 'bad' : ''}><span>${name}</span>${value}</div>`;
      const [nan, inf] = stats ? [stats.nan, stats.inf] : row >= 0 ? [s.nan[row]!, s.inf[row]!] : [NaN, NaN];
      render(html`<h2>${opLabel(t, op)} <span class="muted">#${t.ops.id[op]} · ${dtypesOf(t, op)[0]}[${(shapesOf(t, op)[0] ?? []).join(', ')}]</span></h2>
        ${producers.includes(op) ? html`<p class="badges"><span class="badge bad">produces NaN or Inf from finite inputs</span></p>` : nothing}
        ${shown.against ? html`<p class="badges"><span class="badge">${shown.against}</span></p>` : nothing}
        ${shown.elements && shown.elements.from !== 'trace' ? html`<p class="muted origin">${origin(shown.elements)}</p>` : nothing}
        ${shown.waiting ? html`<p class="muted" role="status">The trace is being run again for these elements…</p>` : nothing}
        ${error ? html`<p class="error-text">${error}</p>` : nothing}
        <div class="stats">
          ${figure('min', f.real(stats?.min ?? s.min[row] ?? NaN))} ${figure('max', f.real(stats?.max ?? s.max[row] ?? NaN))} ${figure('mean', f.real(stats?.mean ?? s.mean[row] ?? NaN))}
          ${stats ? figure('deviation', f.real(stats.deviation)) : nothing} ${figure('NaN', f.count(nan), nan > 0)} ${figure('Inf', f.count(inf), inf > 0)}
          ${figure('zero', f.count(stats?.zero ?? s.zero[row] ?? NaN))} ${row >= 0 ? figure('hash', word(s.hash, row)) : nothing}
        </div>`, top);
    };
    const load = async (op: number) => {
      const next: Shown = { op, tensor: null, stats: null, options: whole(), error: '' };
      if (op >= 0 && sourceOf(t, t.ops.id[op]!)) {
        // Only what takes a while is announced.
        const slow = setTimeout(() => put({ ...next, waiting: true }), 150);
        try {
          await fill(next, op);
        } catch (error) {
          next.error = error instanceof Error ? error.message : String(error);
        }
        clearTimeout(slow);
      }
      put(next);
    };
    const put = (next: Shown) => {
      if (focus.peek().op !== next.op) return;
      shown = next;
      drawTop();
      drawControls();
      redraw();
    };
    const fill = async (next: Shown, op: number) => {
      next.elements = await elementsOf(t, t.ops.id[op]!);
      const own = readNpy(next.elements.bytes, dtypesOf(t, op)[0] ?? '');
      let data = own;
      const alike = (tensor: Tensor) => tensor.shape.join() === own.shape.join();
      const twin = second ? counterpart(op) : null;
      if (pinned && pinned.op !== op && alike(pinned.tensor)) {
        data = differenceOf(own, pinned.tensor);
        next.against = `difference to ${opLabel(t, pinned.op)} #${t.ops.id[pinned.op]}`;
      } else if (!pinned && twin && sourceOf(twin.t, twin.t.ops.id[twin.op]!)) {
        const there = readNpy((await elementsOf(twin.t, twin.t.ops.id[twin.op]!)).bytes, dtypesOf(twin.t, twin.op)[0] ?? '');
        if (alike(there)) {
          data = differenceOf(there, own);
          next.against = `${twin.t.name} #${twin.t.ops.id[twin.op]} minus ${t.name} #${t.ops.id[op]}`;
        }
      }
      const rank = data.shape.length;
      next.tensor = data;
      next.stats = statistics(data);
      next.options.slice = { rowAxis: rank >= 2 ? rank - 2 : -1, columnAxis: rank - 1, index: data.shape.map(() => 0) };
    };
    const stops = [
      effect(() => {
        theme.value;
        redraw();
      }),
      effect(() => {
        const { op } = focus.value;
        list.mark(op);
        void load(op);
      }),
    ];
    return () => {
      stops.forEach((stop) => stop());
      showTip(null, 0, 0);
    };
  },
};
