// Histogram and heat map of one tensor.

import { colour } from '../../colour';
import * as f from '../../format';
import type { Surface } from '../../ui/canvas';
import type { Statistics, Tensor } from './npy';

/** @param log heights by the logarithm of the counts, so that rare values are seen beside frequent ones */
export function drawHistogram({ context: c, width, height }: Surface, s: Statistics | null, log: boolean, hover: number): void {
  c.font = '11px system-ui, sans-serif';
  c.textBaseline = 'middle';
  if (!s || !Number.isFinite(s.min)) {
    c.fillStyle = colour('muted');
    c.fillText(s ? 'No finite element.' : 'The data of this array is not in the trace; only its statistics are.', 14, height / 2);
    return;
  }
  const [left, right, top, bottom] = [14, width - 14, 18, height - 22];
  const most = Math.max(...s.histogram, 1);
  const w = (right - left) / s.histogram.length;
  const part = (n: number) => (log ? Math.log1p(n) / Math.log1p(most) : n / most);
  s.histogram.forEach((n, i) => {
    const h = n === 0 ? 0 : Math.max(1, part(n) * (bottom - top));
    c.fillStyle = colour(i === hover ? 'accent' : 'active');
    c.fillRect(left + i * w, bottom - h, Math.max(1, w - 1), h);
  });
  c.fillStyle = colour('muted');
  c.fillText(f.real(s.min), left, height - 10);
  c.textAlign = 'right';
  c.fillText(f.real(s.max), right, height - 10);
  c.fillText(`most ${f.plural(most, 'element')} in one of ${s.histogram.length} ranges${log ? ', log scale' : ''}`, right, 9);
  c.textAlign = 'center';
  if (s.min < 0 && s.max > 0) {
    const zero = left + (-s.min / (s.max - s.min)) * (right - left);
    // A label beside another one would lie on it.
    if (zero - left > 50 && right - zero > 50) c.fillText('0', zero, height - 10);
    c.fillRect(zero, bottom, 1, 4);
  }
  c.textAlign = 'left';
}

/** The range of values under a place of the histogram, or -1. */
export function binAt(x: number, width: number, s: Statistics): number {
  const bin = Math.floor(((x - 14) / (width - 28)) * s.histogram.length);
  return bin >= 0 && bin < s.histogram.length ? bin : -1;
}

export interface Slice {
  rowAxis: number;
  columnAxis: number;
  /** Position along every axis; those of the two shown axes are not used. */
  index: number[];
}
export type Mode = 'values' | 'faults' | 'image' | 'wave';
export interface HeatOptions {
  slice: Slice;
  /** Values by colour; only finite, NaN, infinite and zero told apart; brightness or colours as they are; a curve. */
  mode: Mode;
  /** The part in sight: how many times closer, and the first row and column. */
  scale: number;
  row: number;
  column: number;
}
export interface Heat {
  rows: number;
  columns: number;
  x: number;
  y: number;
  cell: number;
  /** First row and column in sight. */
  row: number;
  column: number;
  /** Row-major position of a cell. */
  position(row: number, column: number): number;
}

/** From blue over pale to red around zero, or one hue where all have one sign. */
function ramp(part: number, signed: boolean, dark: boolean): [number, number, number] {
  const low = dark ? [34, 40, 50] : [250, 250, 251];
  const [cold, warm] = dark ? [[88, 150, 255], [255, 128, 92]] : [[28, 84, 190], [196, 56, 24]];
  const amount = signed ? Math.abs(part) : part;
  const to = signed && part < 0 ? cold : signed ? warm : cold;
  const t = Math.max(0, Math.min(1, amount)) ** 0.8;
  return [0, 1, 2].map((i) => low[i]! + (to![i]! - low[i]!) * t) as [number, number, number];
}

const FAULTS = { nan: [214, 0, 170], inf: [255, 166, 0], zero: [130, 140, 152] } as const;

/** What the colours mean, below the map. */
function scaleBar(c: CanvasRenderingContext2D, s: Statistics, signed: boolean, reach: number, dark: boolean, mode: Mode, width: number, y: number): void {
  if (mode === 'faults' || !Number.isFinite(s.min)) return;
  const wide = Math.min(240, width - 120);
  const [low, high] = signed ? [-reach, reach] : [s.min, s.max];
  for (let i = 0; i < wide; i++) {
    const part = i / (wide - 1);
    const [r, g, b] = mode === 'image' ? [part * 255, part * 255, part * 255] : ramp(signed ? part * 2 - 1 : part, signed, dark);
    c.fillStyle = `rgb(${r},${g},${b})`;
    c.fillRect(10 + i, y, 1.5, 10);
  }
  c.strokeStyle = colour('line');
  c.strokeRect(9.5, y - 0.5, wide + 1, 11);
  c.font = '11px system-ui, sans-serif';
  c.textBaseline = 'middle';
  c.fillStyle = colour('muted');
  c.fillText(`${f.real(low)}${signed ? '  0 ' : ''} … ${f.real(high)}`, 18 + wide, y + 5);
}

/** One row of the slice as a curve; what is not finite is a mark at the top. */
function drawWave({ context: c, width, height }: Surface, at: (i: number) => number, count: number, s: Statistics, first: number): void {
  const [top, bottom] = [16, height - 30];
  const y = (v: number) => bottom - ((v - s.min) / (s.max - s.min || 1)) * (bottom - top);
  c.strokeStyle = colour('active');
  c.fillStyle = `rgb(${FAULTS.nan.join()})`;
  c.lineWidth = 1.4;
  c.beginPath();
  // A pixel shows the whole reach of what lies in it.
  const per = count / (width - 20);
  for (let x = 0; x < width - 20; x++) {
    let [low, high] = [Infinity, -Infinity];
    for (let i = Math.floor(x * per); i < Math.max(Math.floor(x * per) + 1, Math.floor((x + 1) * per)) && i < count; i++) {
      const v = at(first + i);
      if (!Number.isFinite(v)) c.fillRect(10 + x, 4, 2, 8);
      else [low, high] = [Math.min(low, v), Math.max(high, v)];
    }
    if (low > high) continue;
    c.lineTo(10 + x, y(low));
    if (high > low) c.lineTo(10 + x, y(high));
  }
  c.stroke();
  c.lineWidth = 1;
}

export function drawHeat(surface: Surface, t: Tensor, s: Statistics, { slice, mode, scale, row: firstRow, column: firstColumn }: HeatOptions, dark: boolean): Heat {
  const { context: c, width } = surface;
  const height = surface.height - 22;
  const faults = mode === 'faults';
  const strides = t.shape.map((_, i) => t.shape.slice(i + 1).reduce((a, b) => a * b, 1));
  const [allRows, allColumns] = [slice.rowAxis < 0 ? 1 : t.shape[slice.rowAxis]!, slice.columnAxis < 0 ? 1 : t.shape[slice.columnAxis]!];
  const [rows, columns] = [Math.max(1, Math.ceil(allRows / scale)), Math.max(1, Math.ceil(allColumns / scale))];
  const [row, column] = [Math.max(0, Math.min(allRows - rows, Math.round(firstRow))), Math.max(0, Math.min(allColumns - columns, Math.round(firstColumn)))];
  let base = 0;
  t.shape.forEach((_, axis) => {
    if (axis !== slice.rowAxis && axis !== slice.columnAxis) base += (slice.index[axis] ?? 0) * strides[axis]!;
  });
  const position = (r: number, q: number) => base + (slice.rowAxis < 0 ? 0 : (row + r) * strides[slice.rowAxis]!) + (slice.columnAxis < 0 ? 0 : (column + q) * strides[slice.columnAxis]!);
  if (mode === 'wave') {
    drawWave(surface, (i) => t.at(position(0, i - column)), columns, s, column);
    return { rows: 1, columns, x: 10, y: 0, cell: (width - 20) / columns, row, column, position };
  }
  const ratio = devicePixelRatio || 1;
  const cell = Math.min((width - 20) / Math.max(1, columns), (height - 20) / Math.max(1, rows), 28);
  // As many pixels as are drawn: an image that is shrunk on the way to the screen would lose some.
  const [w, h] = [Math.max(1, Math.min(columns, Math.floor(columns * cell * ratio))), Math.max(1, Math.min(rows, Math.floor(rows * cell * ratio)))];
  const image = new ImageData(w, h);
  const signed = s.min < 0 && s.max > 0;
  const reach = signed ? Math.max(-s.min, s.max) : s.max - s.min;
  const value = (v: number): readonly [number, number, number] => {
    if (Number.isNaN(v)) return FAULTS.nan;
    if (!Number.isFinite(v)) return FAULTS.inf;
    if (faults) return v === 0 ? FAULTS.zero : ramp(0.08, false, dark);
    if (mode === 'image') {
      const level = s.max > s.min ? ((v - s.min) / (s.max - s.min)) * 255 : 128;
      return [level, level, level];
    }
    return ramp(reach > 0 ? (signed ? v / reach : (v - s.min) / reach) : 0.5, signed, dark);
  };
  // Many elements per pixel: a NaN or infinity before all, else the one farthest from zero. Every element is looked at:
  // a single NaN among millions is what people look for.
  const [perRow, perColumn] = [rows / h, columns / w];
  for (let y = 0; y < h; y++) {
    const [r0, r1] = [Math.floor(y * perRow), Math.max(Math.floor(y * perRow) + 1, Math.floor((y + 1) * perRow))];
    for (let x = 0; x < w; x++) {
      const [c0, c1] = [Math.floor(x * perColumn), Math.max(Math.floor(x * perColumn) + 1, Math.floor((x + 1) * perColumn))];
      let best = 0;
      let first = true;
      search: for (let r = r0; r < r1; r++) {
        for (let q = c0; q < c1; q++) {
          const v = t.at(position(r, q));
          if (Number.isNaN(v)) {
            best = v;
            break search;
          }
          if (first || Math.abs(v) > Math.abs(best)) best = v;
          first = false;
        }
      }
      const [red, green, blue] = value(best);
      image.data.set([red, green, blue, 255], (y * w + x) * 4);
    }
  }
  const scaled = document.createElement('canvas');
  scaled.width = w;
  scaled.height = h;
  scaled.getContext('2d')!.putImageData(image, 0, 0);
  const size = { x: 10, y: 10, width: columns * cell, height: rows * cell };
  c.imageSmoothingEnabled = false;
  c.drawImage(scaled, size.x, size.y, size.width, size.height);
  c.strokeStyle = colour('line');
  c.strokeRect(size.x - 0.5, size.y - 0.5, size.width + 1, size.height + 1);
  scaleBar(c, s, signed, reach, dark, mode, width, surface.height - 18);
  return { rows, columns, x: size.x, y: size.y, cell, row, column, position };
}
