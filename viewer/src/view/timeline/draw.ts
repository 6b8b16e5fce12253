// Paints the timeline: ruler, regions, host, one track per stream, arrows of the selection, memory.

import { colour, kindColour } from '../../colour';
import * as f from '../../format';
import { word } from '../../trace/columns';
import type { Trace } from '../../trace/model';
import { fit, type Surface } from '../../ui/canvas';
import type { Axis } from './axis';
import type { Neighbours } from './links';
import { lowerBound, type MemoryCurve, pixels } from './lod';
import { type LaunchMarks, ODD } from './marks';
import type { Range } from './range';

/** The names of tracks; they must not take half of a phone. */
const gutterOf = (width: number): number => (width < 600 ? 92 : 150);
const RULER = 26;
/** A track must hold a line of text. */
const LEAST_TRACK = 18;
const REGION = 18;
/** Beyond this many launches per pixel they are summed up. */
const DENSE = 0.7;

/** Where everything stands vertically. */
export interface Places {
  /** The part of the picture that tracks may take, and how far they can be moved up. */
  area: { top: number; bottom: number; most: number };
  regions: { top: number; rows: number };
  host: { top: number; height: number };
  tracks: { top: number; height: number }[];
  memory: { top: number; height: number };
}
export interface Scene {
  t: Trace;
  axis: Axis;
  curve: MemoryCurve;
  places: Places;
  /** How far the tracks are moved up. */
  scroll: number;
  selected: number;
  links: Neighbours;
  hover: number;
  /** Which launches match the search, with sums for each track. */
  matches: { launches: Uint8Array; sums: Uint32Array[] } | null;
  hostWaits: number[];
  streamWaits: Map<number, number[]>;
  marks: LaunchMarks;
  /** Row of the selected wait, or -1. */
  wait: number;
  range: Range | null;
  /** Whether the longest chain is drawn. */
  chain: boolean;
}

export function places(t: Trace, height: number, hasHost: boolean, scroll: number): Places {
  const depth = Math.min(4, t.regions.reduce((most, region) => Math.max(most, region.depth + 1), 0));
  let top = RULER;
  const regions = { top, rows: depth };
  top += depth * REGION + (depth ? 6 : 0);
  const host = { top, height: hasHost ? 24 : 0 };
  top += host.height ? host.height + 4 : 0;
  const least = t.memory.rows > 0 ? Math.max(70, height * 0.22) : 0;
  const room = height - top - least - 12;
  const size = Math.max(LEAST_TRACK, Math.min(60, room / Math.max(1, t.tracks.length) - 4));
  const left = height - top - t.tracks.length * (size + 4) - 20;
  const memory = least && Math.max(least, Math.min(left, height * 0.42));
  const bottom = height - (memory ? memory + 4 : 0);
  // What does not fit is scrolled to.
  const most = Math.max(0, t.tracks.length * (size + 4) - (bottom - top));
  const from = top - Math.max(0, Math.min(most, scroll));
  const tracks = t.tracks.map((_, i) => ({ top: from + i * (size + 4), height: size }));
  return { area: { top, bottom, most }, regions, host, tracks, memory: { top: height - memory, height: memory } };
}

export function draw({ context: c, width, height }: Surface, scene: Scene): void {
  const { axis, places: p } = scene;
  axis.left = gutterOf(width);
  axis.width = Math.max(10, width - axis.left);
  c.font = `12px ${getComputedStyle(document.documentElement).fontFamily}`;
  c.textBaseline = 'middle';
  ruler(c, scene, height);
  c.save();
  c.beginPath();
  c.rect(axis.left, 0, axis.width, height);
  c.clip();
  regions(c, scene);
  if (p.host.height) waits(c, scene, scene.hostWaits, p.host.top + 3, p.host.height - 6, true);
  inArea(c, p, axis.left, width, () => {
    p.tracks.forEach((place, i) => isVisible(p, place) && track(c, scene, i));
    if (scene.chain) chain(c, scene);
    arrows(c, scene);
  });
  memory(c, scene);
  if (scene.range) {
    const [x0, x1] = [axis.x(scene.range.begin), axis.x(scene.range.end)];
    c.fillStyle = colour('accent');
    c.globalAlpha = 0.14;
    c.fillRect(x0, 0, x1 - x0, height);
    c.globalAlpha = 1;
    c.fillRect(x0 - 1, 0, 1.5, height);
    c.fillRect(x1, 0, 1.5, height);
  }
  c.restore();
  gutter(c, scene, height);
  scrollBar(c, scene, width);
}

/** Draws where tracks may be drawn, however far they are scrolled. */
function inArea(c: CanvasRenderingContext2D, p: Places, left: number, right: number, paint: () => void): void {
  c.save();
  c.beginPath();
  // Marks above the first track are seen as long as it is.
  const above = p.tracks[0] && p.tracks[0].top >= p.area.top ? 9 : 0;
  c.rect(left, p.area.top - above, right - left, p.area.bottom - p.area.top + above);
  c.clip();
  paint();
  c.restore();
}

const isVisible = (p: Places, { top, height }: { top: number; height: number }): boolean => top + height > p.area.top && top < p.area.bottom;

function scrollBar(c: CanvasRenderingContext2D, { places: p }: Scene, width: number): void {
  const { top, bottom, most } = p.area;
  if (most <= 0) return;
  const [tall, first] = [bottom - top, p.tracks[0]!.top];
  const part = tall / (tall + most);
  c.fillStyle = colour('muted');
  c.globalAlpha = 0.6;
  c.beginPath();
  c.roundRect(width - 7, top + ((top - first) / (tall + most)) * tall, 5, Math.max(20, tall * part), 2.5);
  c.fill();
  c.globalAlpha = 1;
}

function ruler(c: CanvasRenderingContext2D, { axis }: Scene, height: number): void {
  c.fillStyle = colour('muted');
  c.strokeStyle = colour('grid');
  c.lineWidth = 1;
  c.beginPath();
  for (const { time, text } of axis.marks()) {
    const x = Math.round(axis.x(time)) + 0.5;
    if (x < axis.left) continue;
    c.moveTo(x, RULER - 6);
    c.lineTo(x, height);
    if (x + 8 + c.measureText(text).width <= axis.left + axis.width) c.fillText(text, x + 4, RULER / 2);
  }
  c.stroke();
}

function regions(c: CanvasRenderingContext2D, { t, axis, places: p }: Scene): void {
  const drawn = new Float64Array(p.regions.rows);
  for (const region of t.regions) {
    if (region.depth >= p.regions.rows || region.end < axis.begin || region.start > axis.end) continue;
    const [x0, x1] = [Math.max(axis.left, axis.x(region.start)), Math.min(axis.left + axis.width, axis.x(region.end))];
    // What is narrower than a pixel is drawn once for each pixel.
    if (x1 <= drawn[region.depth]! + 1) continue;
    drawn[region.depth] = x1;
    const top = p.regions.top + region.depth * REGION;
    c.fillStyle = colour('panel');
    if (x1 - x0 < 3) {
      c.fillStyle = colour('line');
      c.fillRect(x0, top, 1, REGION - 2);
      continue;
    }
    c.strokeStyle = colour('line');
    c.fillRect(x0, top, x1 - x0, REGION - 2);
    c.strokeRect(Math.round(x0) + 0.5, top + 0.5, Math.max(1, Math.round(x1 - x0) - 1), REGION - 3);
    c.fillStyle = colour('muted');
    c.fillText(fit(c, region.name, x1 - x0 - 10), x0 + 5, top + REGION / 2 - 1);
  }
}

/** Times in which somebody waits, as pale bars. */
function waits(c: CanvasRenderingContext2D, { t, axis, marks, wait }: Scene, rows: number[], top: number, height: number, named: boolean): void {
  const { time_ns, duration_ns, waited_for } = t.sync;
  let last = -1;
  for (const row of rows) {
    const x0 = axis.x(time_ns[row]!);
    const x1 = axis.x(time_ns[row]! + duration_ns[row]!);
    if (x1 < axis.left || x0 > axis.left + axis.width || x1 <= last) continue;
    last = Math.max(x1, x0 + 1);
    c.fillStyle = colour('wait');
    c.fillRect(x0, top, Math.max(1, x1 - x0), height);
    if (marks.gains.has(row)) {
      c.fillStyle = colour('warn');
      c.fillRect(x0, top + height - 2, Math.max(1, x1 - x0), 2);
    }
    if (row === wait) outline(c, x0, top, Math.max(3, x1 - x0), height, true);
    const from = Math.max(x0, axis.left);
    if (named && x1 - from > 40) {
      c.fillStyle = colour('text');
      c.fillText(fit(c, `waits for stream ${waited_for[row]}`, x1 - from - 8), from + 4, top + height / 2);
    }
  }
}

function track(c: CanvasRenderingContext2D, scene: Scene, number: number): void {
  const { t, axis, places: p, matches } = scene;
  const data = t.tracks[number]!;
  const { top, height } = p.tracks[number]!;
  const strip = height > 24 ? 6 : 0;
  const bar = height - strip - (strip ? 2 : 0);
  c.fillStyle = colour('panel');
  c.fillRect(axis.left, top, axis.width, bar);
  const from = Math.max(0, lowerBound(data.start, axis.begin) - 1);
  const to = lowerBound(data.start, axis.end);
  if (to - from > axis.width * DENSE) dense(c, scene, number, top, bar);
  else {
    let textAfter = -1;
    for (let i = from; i < to; i++) {
      const row = data.rows[i]!;
      const [x0, x1] = [axis.x(data.start[i]!), axis.x(data.end[i]!)];
      const w = Math.max(1, x1 - x0 - (x1 - x0 > 3 ? 0.5 : 0));
      c.globalAlpha = matches && !matches.launches[row] ? 0.16 : 1;
      c.fillStyle = kindColour(t.kindOfLaunch[row]!);
      c.fillRect(x0, top, w, bar);
      if (scene.marks.odd[row]) oddMark(c, x0, top, w, scene.marks.odd[row] === ODD.made);
      const left = Math.max(x0, axis.left, textAfter);
      if (w > 26 && bar > 13 && x1 - left > 26) {
        c.fillStyle = colour('on-kind');
        c.fillText(fit(c, word(t.launches.kernel, row), x1 - left - 8), left + 4, top + Math.min(bar / 2, 14));
        if (bar > 34 && x1 - left > 60) {
          c.globalAlpha *= 0.8;
          c.fillText(fit(c, f.time(data.end[i]! - data.start[i]!), x1 - left - 8), left + 4, top + 29);
        }
        textAfter = x1;
      }
      if (row === scene.hover || row === scene.selected) outline(c, x0, top, w, bar, row === scene.selected);
    }
    c.globalAlpha = 1;
  }
  if (strip) waits(c, scene, scene.streamWaits.get(data.stream) ?? [], top + bar + 2, strip - 1, false);
  if (to - from > axis.width * DENSE && scene.selected >= 0 && t.launches.stream[scene.selected] === data.stream) {
    const [x0, x1] = [axis.x(t.launches.start_ns[scene.selected]!), axis.x(t.launches.end_ns[scene.selected]!)];
    outline(c, x0 - 1, top, Math.max(3, x1 - x0), bar, true);
  }
}

function outline(c: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, strong: boolean): void {
  c.globalAlpha = 1;
  c.strokeStyle = colour('select');
  c.lineWidth = strong ? 2 : 1;
  c.strokeRect(x + 0.5, y + 0.5, Math.max(1, w - 1), h - 1);
  c.lineWidth = 1;
}

/** A red edge where a NaN or infinity passes, and an arrow above where it was made. */
function oddMark(c: CanvasRenderingContext2D, x: number, top: number, w: number, made: boolean): void {
  c.fillStyle = colour('nan');
  c.fillRect(x, top, w, 3);
  if (!made) return;
  c.beginPath();
  c.moveTo(x - 5, top - 8);
  c.lineTo(x + 5, top - 8);
  c.lineTo(x, top + 1);
  c.fill();
}

/** Many launches per pixel: a column for each, as strong as the pixel is busy. Equal neighbours become one rectangle. */
function dense(c: CanvasRenderingContext2D, { t, axis, matches, marks }: Scene, number: number, top: number, height: number): void {
  const data = t.tracks[number]!;
  const sums = matches?.sums[number];
  const { step } = axis;
  let [runStart, runEnd, runKind, runAlpha] = [0, -1, -1, 0];
  const odd: number[] = [];
  const flush = () => {
    if (runEnd <= runStart) return;
    c.globalAlpha = runAlpha / 16;
    c.fillStyle = kindColour(runKind);
    c.fillRect(runStart, top, runEnd - runStart, height);
  };
  pixels(data, axis.begin, axis.end, step, (time, busy, longest, from, to) => {
    const hit = !sums || sums[to]! > sums[from]! || matches!.launches[data.rows[longest]!];
    const kind = t.kindOfLaunch[data.rows[longest]!]!;
    const alpha = hit ? Math.round(5 + busy * 11) : 2;
    const x = axis.x(time);
    if (marks.oddSums[number]![to]! > marks.oddSums[number]![from]!) odd.push(x);
    if (kind === runKind && alpha === runAlpha && Math.abs(x - runEnd) < 0.01) {
      runEnd = x + 1;
      return;
    }
    flush();
    [runStart, runEnd, runKind, runAlpha] = [x, x + 1, kind, alpha];
  });
  flush();
  c.globalAlpha = 1;
  for (const x of odd) oddMark(c, x, top, 1, false);
  for (const row of marks.makers) if (t.launches.stream[row] === data.stream && t.launches.start_ns[row]! >= axis.begin && t.launches.start_ns[row]! <= axis.end) oddMark(c, axis.x(t.launches.start_ns[row]!), top, 1, true);
}

/** The longest chain of launches that need each other, as a line from one to the next. */
function chain(c: CanvasRenderingContext2D, { t, axis, places: p, marks }: Scene): void {
  const tracks = new Map(t.tracks.map((track, i) => [track.stream, p.tracks[i]!]));
  c.strokeStyle = colour('accent');
  c.fillStyle = colour('accent');
  c.lineWidth = 2;
  c.beginPath();
  let before: [number, number] | null = null;
  let last = -Infinity;
  for (const row of marks.chain) {
    const place = tracks.get(t.launches.stream[row]!);
    const [x0, x1] = [axis.x(t.launches.start_ns[row]!), axis.x(t.launches.end_ns[row]!)];
    if (!place) continue;
    const y = place.top + place.height - 5;
    // What is out of sight or within the same pixel is skipped, but the line goes on.
    if (before && x1 >= axis.left && before[0] <= axis.left + axis.width && x1 - last > 0.5) {
      c.moveTo(before[0], before[1]);
      c.lineTo(x0, y);
      c.moveTo(x0, y);
      c.lineTo(Math.max(x1, x0 + 1), y);
      last = x1;
    }
    before = [x1, y];
  }
  c.stroke();
  c.lineWidth = 1;
}

function arrows(c: CanvasRenderingContext2D, { t, axis, places: p, selected, links }: Scene): void {
  if (selected < 0) return;
  const place = (launch: number): [number, number] => {
    const i = t.tracks.findIndex((track) => track.stream === t.launches.stream[launch]);
    const spot = p.tracks[i]!;
    return [spot.top, spot.height];
  };
  const arrow = (from: number, to: number, name: string) => {
    const [x0, x1] = [axis.x(t.launches.end_ns[from]!), axis.x(t.launches.start_ns[to]!)];
    if (Math.max(x0, x1) < axis.left - 200 || Math.min(x0, x1) > axis.left + axis.width + 200) return;
    const [a, ah] = place(from);
    const [b, bh] = place(to);
    const [y0, y1] = [a + ah * 0.55, b + bh * 0.4];
    // Backwards in time, which clocks of two devices can make of it, needs a wider curve.
    const bend = x1 < x0 ? 40 : Math.min(120, (x1 - x0) / 2);
    const lift = a === b ? -Math.min(22, 4 + Math.abs(x1 - x0) / 4) : 0;
    c.strokeStyle = colour(name);
    c.fillStyle = colour(name);
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0 + bend, y0 + lift, x1 - bend, y1 + lift, x1, y1);
    c.stroke();
    c.beginPath();
    c.moveTo(x1, y1);
    c.lineTo(x1 - 7, y1 - 4);
    c.lineTo(x1 - 7, y1 + 4);
    c.fill();
  };
  for (const from of links.producers) arrow(from, selected, 'select');
  for (const to of links.readers) arrow(selected, to, 'accent');
  c.lineWidth = 1;
}

function memory(c: CanvasRenderingContext2D, { t, axis, curve, places: p }: Scene): void {
  const { top, height } = p.memory;
  if (height === 0) return;
  const { limit, peak } = t.manifest.memory;
  const most = Math.max(curve.peak, peak) * 1.08;
  const y = (value: number) => top + height - 6 - (value / most) * (height - 14);
  c.fillStyle = colour('bg');
  c.fillRect(axis.left, top, axis.width, height);
  const area = (name: string, which: 0 | 1) => {
    c.fillStyle = colour(name);
    c.beginPath();
    c.moveTo(axis.left, y(0));
    curve.pixels(axis.begin, axis.step, axis.width, (x, active, total) => {
      const v = y(which === 0 ? active : total);
      c.lineTo(axis.left + x, v);
      c.lineTo(axis.left + x + 1, v);
    });
    c.lineTo(axis.left + axis.width, y(0));
    c.fill();
  };
  area('cache', 1);
  area('active', 0);
  const line = (value: number, name: string, label: string) => {
    if (value <= 0 || value > most) return;
    c.strokeStyle = colour(name);
    c.fillStyle = colour(name);
    c.setLineDash([4, 4]);
    c.beginPath();
    c.moveTo(axis.left, Math.round(y(value)) + 0.5);
    c.lineTo(axis.left + axis.width, Math.round(y(value)) + 0.5);
    c.stroke();
    c.setLineDash([]);
    const wide = c.measureText(label).width;
    c.fillStyle = colour('bg');
    c.fillRect(axis.left + 2, y(value) + 2, wide + 8, 15);
    c.fillStyle = colour(name);
    c.fillText(label, axis.left + 6, y(value) + 10);
  };
  line(peak, 'muted', `peak ${f.bytes(peak)}`);
  line(limit, 'bad', `limit ${f.bytes(limit)}`);
}

function gutter(c: CanvasRenderingContext2D, { t, axis, places: p }: Scene, height: number): void {
  c.fillStyle = colour('panel');
  c.fillRect(0, 0, axis.left, height);
  c.strokeStyle = colour('line');
  c.beginPath();
  c.moveTo(axis.left - 0.5, 0);
  c.lineTo(axis.left - 0.5, height);
  c.stroke();
  const label = (text: string, small: string, top: number, size: number) => {
    const both = small && size > 28;
    c.fillStyle = colour('text');
    c.fillText(fit(c, text, axis.left - 20), 10, top + (both ? size / 2 - 8 : size / 2));
    if (both) {
      c.fillStyle = colour('muted');
      c.fillText(fit(c, small, axis.left - 20), 10, top + size / 2 + 8);
    }
  };
  if (p.regions.rows) label('regions', '', p.regions.top, REGION);
  if (p.host.height) label('host', '', p.host.top, p.host.height);
  inArea(c, p, 0, axis.left - 1, () => t.tracks.forEach((track, i) => isVisible(p, p.tracks[i]!) && label(`${track.stream} ${track.label}`, track.device, p.tracks[i]!.top, p.tracks[i]!.height)));
  if (p.memory.height) {
    label('memory', `up to ${f.bytes(t.manifest.memory.peak)}`, p.memory.top, p.memory.height - 24);
    [['active', 'active'], ['cache', 'cache']].forEach(([name, text], i) => {
      c.fillStyle = colour(name!);
      c.fillRect(10 + i * (axis.left < 120 ? 42 : 62), p.memory.top + p.memory.height - 20, 9, 9);
      c.fillStyle = colour('muted');
      if (axis.left >= 120) c.fillText(text!, 23 + i * 62, p.memory.top + p.memory.height - 15);
    });
  }
}
