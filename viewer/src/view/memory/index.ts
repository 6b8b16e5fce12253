// Memory: the life of every buffer over time, who it was made for, and what was held at the peak.

import { effect } from '@preact/signals-core';
import { html, nothing, render } from 'lit-html';
import { colour, kindColour, kindVariable, theme } from '../../colour';
import * as f from '../../format';
import { analysis, focus, select } from '../../state';
import { word } from '../../trace/columns';
import { opLabel, type Life, type Trace } from '../../trace/model';
import { fit, Surface } from '../../ui/canvas';
import type { View } from '../../ui/shell';
import { DataTable, type Column } from '../../ui/table';
import { showTip } from '../../ui/tooltip';
import { Axis, control } from '../timeline/axis';
import { axisOf, curveOf } from '../timeline';
import { stack, type Stack } from './stack';

const GUTTER = 84;
const RULER = 24;
/** Placing more buffers than this would take too long; the largest are kept. */
const MAX_LIVES = 20_000;
const stacks = new WeakMap<Trace, { rows: number[]; stack: Stack }>();

function stackOf(t: Trace) {
  let known = stacks.get(t);
  if (!known) {
    let rows = t.lives.map((_, i) => i);
    if (rows.length > MAX_LIVES) rows = rows.sort((a, b) => t.lives[b]!.bytes - t.lives[a]!.bytes).slice(0, MAX_LIVES).sort((a, b) => a - b);
    known = { rows, stack: stack(rows.map((row) => t.lives[row]!)) };
    stacks.set(t, known);
  }
  return known;
}

const kindOfLife = (t: Trace, life: Life): number => (life.op < 0 ? 0 : t.kindOfOp[life.op]!);

function columns(t: Trace, total: number): Column[] {
  const life = (row: number) => t.lives[row]!;
  return [
    { title: 'Buffer', text: (r) => String(life(r).buffer), key: (r) => life(r).buffer, right: true },
    { title: 'Size', text: (r) => f.bytes(life(r).bytes), key: (r) => life(r).bytes, right: true, bar: (r) => life(r).bytes / total, width: 1.2 },
    { title: 'Made for', text: (r) => (life(r).op < 0 ? '' : opLabel(t, life(r).op)), swatch: (r) => kindVariable(kindOfLife(t, life(r))), width: 2 },
    { title: 'Call site', tail: true, text: (r) => (life(r).op < 0 ? '' : word(t.ops.call_site, life(r).op)), width: 2 },
    { title: 'From', text: (r) => (life(r).before ? 'before' : f.time(life(r).start)), key: (r) => life(r).start, right: true },
    { title: 'For', text: (r) => f.time(life(r).end - life(r).start), key: (r) => life(r).end - life(r).start, right: true },
    { title: 'Until', text: (r) => (life(r).after ? 'held' : f.time(life(r).end)), key: (r) => life(r).end, right: true },
  ];
}

export const memory: View = {
  panel: true,
  analysed: true,
  open(host, t) {
    const { memory: m } = t.manifest;
    const used = analysis.peek()?.memory;
    if (t.lives.length === 0) {
      render(html`<p class="muted empty-row">No memory events are in this trace.</p>`, host);
      return () => {};
    }
    const { rows, stack: placed } = stackOf(t);
    const peak = used?.peak_ns ?? -1;
    const axis: Axis = axisOf(t);
    const curve = curveOf(t);
    const scene = { selected: -1, hover: -1, axis, curve, rows, placed, peak };
    render(html`<div class="tools">
      ${used ? html`<span><b>${f.bytes(used.peak)}</b> <span class="muted">peak at ${f.time(used.peak_ns)}</span></span>` : nothing}
      <span>${f.bytes(m.activeAtEnd)} <span class="muted">active at the end</span></span><span>${f.bytes(m.cacheAtEnd)} <span class="muted">cache at the end</span></span>
      <span>${m.limit > 0 ? f.bytes(m.limit) : 'none'} <span class="muted">limit</span></span>
      ${rows.length < t.lives.length ? html`<span class="badge warn">only the ${f.count(rows.length)} largest of ${f.count(t.lives.length)} buffers are drawn</span>` : nothing}
      <span class="spacer"></span><button class="small" id="fit" title="Everything in sight (Home)">Fit</button></div>
      <div class="surface"></div><div class="columns"></div>`, host);
    const surface = new Surface(host.querySelector<HTMLElement>('.surface')!, (s) => draw(s, t, scene), 'Lives of buffers over time');
    const redraw = () => surface.draw();
    host.querySelector<HTMLElement>('#fit')!.onclick = () => {
      axis.all();
      redraw();
    };
    // All buffers are asked, drawn or not; how many there are and how much they hold is the analysis' to say.
    const live = used ? t.lives.flatMap((life, row) => (life.start <= peak && (life.end > peak || life.after) && !life.before && life.device === used.device ? [row] : [])) : [];
    const most = live.reduce((best, row) => Math.max(best, t.lives[row]!.bytes), 1);
    const before = used && used.held_before > 0 ? `, and ${f.bytes(used.held_before)} from before the window` : '';
    const atPeak = new DataTable('Held at the peak', columns(t, most), (row) => select('buffer', row), { sort: 1 })
      .set(live, used ? `${f.plural(used.held_count, 'buffer')}, ${f.bytes(used.peak - used.held_before)}${before}` : 'being computed');
    const largest = t.lives.reduce((best, life) => Math.max(best, life.bytes), 1);
    const all = new DataTable('All buffers', columns(t, largest), (row) => select('buffer', row), { sort: 1 }).set(t.lives.map((_, i) => i), f.plural(t.lives.length, 'buffer'));
    host.querySelector('.columns')!.append(atPeak.element, all.element);

    const lifeAt = (x: number, y: number): number => {
      const [time, byte] = [axis.time(x), (1 - (y - chartTop(surface)) / chartHeight(surface)) * placed.height];
      const at = rows.findIndex((row, i) => t.lives[row]!.start <= time && time <= t.lives[row]!.end && placed.offset[i]! <= byte && byte < placed.offset[i]! + t.lives[row]!.bytes);
      return at < 0 ? -1 : rows[at]!;
    };
    control(surface.canvas, axis, { changed: redraw, tap: (event) => select('buffer', lifeAt(...surface.at(event))) });
    surface.canvas.onmousemove = (event) => {
      const [x, y] = surface.at(event);
      if (y < chartTop(surface)) {
        const [active, total] = curve.at(axis.time(x));
        return showTip({ title: 'Memory', lines: [['time', f.time(axis.time(x))], ['active', `${f.bytes(active)}  (${f.count(active)} B)`], ['cache', f.bytes(total - active)], ['limit', m.limit > 0 ? f.bytes(m.limit) : '']] }, event.clientX, event.clientY);
      }
      const row = x < GUTTER ? -1 : lifeAt(x, y);
      if (row !== scene.hover) {
        scene.hover = row;
        redraw();
      }
      const life = t.lives[row];
      showTip(!life || event.buttons ? null : {
        title: `Buffer ${life.buffer}, ${f.bytes(life.bytes)}`,
        lines: [['made for', life.op < 0 ? '' : `${opLabel(t, life.op)} #${t.ops.id[life.op]}`], ['call site', life.op < 0 ? '' : word(t.ops.call_site, life.op)], ['from', life.before ? 'before the window' : f.time(life.start)], ['until', life.after ? 'still held at the end' : f.time(life.end)], ['for', f.time(life.end - life.start)], ['by', life.event]],
      }, event.clientX, event.clientY);
    };
    surface.canvas.onmouseleave = () => showTip(null, 0, 0);
    const stops = [
      effect(() => {
        theme.value;
        redraw();
      }),
      effect(() => {
        const { life } = focus.value;
        scene.selected = life;
        atPeak.mark(life);
        all.mark(life);
        redraw();
      }),
    ];
    return () => {
      stops.forEach((stop) => stop());
      showTip(null, 0, 0);
    };
  },
};

const curveHeight = (s: Surface) => Math.max(50, Math.min(130, s.height * 0.28));
const chartTop = (s: Surface) => RULER + curveHeight(s) + 10;
const chartHeight = (s: Surface) => s.height - chartTop(s) - 6;

interface MemoryScene {
  selected: number;
  hover: number;
  axis: Axis;
  curve: ReturnType<typeof curveOf>;
  rows: number[];
  placed: Stack;
  peak: number;
}

function draw(s: Surface, t: Trace, { selected, hover, axis, curve, rows, placed, peak }: MemoryScene): void {
  const { context: c, width, height } = s;
  axis.left = GUTTER;
  axis.width = Math.max(10, width - GUTTER);
  c.font = '12px system-ui, sans-serif';
  c.textBaseline = 'middle';
  c.strokeStyle = colour('grid');
  c.fillStyle = colour('muted');
  c.beginPath();
  for (const { time, text } of axis.marks()) {
    const x = Math.round(axis.x(time)) + 0.5;
    if (x < GUTTER) continue;
    c.moveTo(x, RULER - 6);
    c.lineTo(x, height);
    if (x + 8 + c.measureText(text).width <= width) c.fillText(text, x + 4, RULER / 2);
  }
  c.stroke();
  c.save();
  c.beginPath();
  c.rect(GUTTER, 0, width - GUTTER, height);
  c.clip();
  const [most, bottom] = [Math.max(curve.peak, t.manifest.memory.limit <= curve.peak * 1.6 ? t.manifest.memory.limit : 0) * 1.05, RULER + curveHeight(s)];
  const y = (value: number) => bottom - (value / most) * (bottom - RULER);
  for (const which of [1, 0] as const) {
    c.fillStyle = colour(which ? 'cache' : 'active');
    c.beginPath();
    c.moveTo(GUTTER, y(0));
    curve.pixels(axis.begin, axis.step, axis.width, (x, active, total) => {
      c.lineTo(GUTTER + x, y(which ? total : active));
      c.lineTo(GUTTER + x + 1, y(which ? total : active));
    });
    c.lineTo(width, y(0));
    c.fill();
  }
  const { limit } = t.manifest.memory;
  if (limit > 0 && limit <= most) {
    c.strokeStyle = colour('bad');
    c.setLineDash([4, 4]);
    c.strokeRect(GUTTER - 5, y(limit), width + 10, 0);
    c.setLineDash([]);
  }
  const [top, tall] = [chartTop(s), chartHeight(s)];
  rows.forEach((row, i) => {
    const life = t.lives[row]!;
    const [x0, x1] = [Math.max(GUTTER - 2, axis.x(life.start)), Math.min(width + 2, axis.x(life.end))];
    if (x1 < GUTTER || x0 > width) return;
    const h = Math.max(0.7, (life.bytes / placed.height) * tall);
    const y0 = top + tall - ((placed.offset[i]! + life.bytes) / placed.height) * tall;
    const w = Math.max(1, x1 - x0);
    c.globalAlpha = life.event === 'reuse' ? 0.72 : 1;
    c.fillStyle = kindColour(kindOfLife(t, life));
    c.fillRect(x0, y0, w, Math.max(0.7, h - (h > 3 ? 1 : 0)));
    c.globalAlpha = 1;
    if (h > 13 && w > 34) {
      c.fillStyle = colour('on-kind');
      c.fillText(fit(c, `${life.op < 0 ? '' : opLabel(t, life.op)} ${f.bytes(life.bytes)}`, w - 8), x0 + 4, y0 + h / 2);
    }
    if (row === selected || row === hover) {
      c.strokeStyle = colour('select');
      c.lineWidth = row === selected ? 2.5 : 1;
      c.strokeRect(x0 + 0.5, y0 + 0.5, Math.max(2, w - 1), Math.max(2, h - 1));
      c.lineWidth = 1;
    }
  });
  const x = axis.x(peak);
  if (peak >= 0) {
  c.strokeStyle = colour('text');
  c.setLineDash([2, 3]);
  c.beginPath();
  c.moveTo(x, RULER);
  c.lineTo(x, height);
  c.stroke();
  c.setLineDash([]);
  c.fillStyle = colour('text');
  c.fillText('peak', Math.min(x + 4, width - 34), RULER + 7);
  }
  c.restore();
  c.fillStyle = colour('panel');
  c.fillRect(0, 0, GUTTER, height);
  const names: [string, number, string?][] = [['active', RULER + 12, 'active'], ['cache', RULER + 30, 'cache'], ['buffers', top + 10]];
  for (const [name, at, mark] of names) {
    if (mark) {
      c.fillStyle = colour(mark);
      c.fillRect(10, at - 5, 9, 9);
    }
    c.fillStyle = colour('muted');
    c.fillText(name, mark ? 24 : 10, at);
  }
  c.fillText(f.bytes(placed.height), 10, top + 28);
}
