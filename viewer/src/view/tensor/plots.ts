// Histogram and heat map of one tensor.

import { colour } from '../../colour';
import * as f from '../../format';
import type { Surface } from '../../ui/canvas';
import type { Statistics, Tensor } from './npy';

export function drawHistogram({ context: c, width, height }: Surface, s: Statistics | null): void {
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
  s.histogram.forEach((n, i) => {
    const h = n === 0 ? 0 : Math.max(1, (n / most) * (bottom - top));
    c.fillStyle = colour('active');
    c.fillRect(left + i * w, bottom - h, Math.max(1, w - 1), h);
  });
  c.fillStyle = colour('muted');
  c.fillText(f.real(s.min), left, height - 10);
  c.textAlign = 'right';
  c.fillText(f.real(s.max), right, height - 10);
  c.fillText(`most ${f.plural(most, 'element')} in one of ${s.histogram.length} ranges`, right, 9);
  c.textAlign = 'center';
  if (s.min < 0 && s.max > 0) {
    const zero = left + (-s.min / (s.max - s.min)) * (right - left);
    c.fillText('0', zero, height - 10);
    c.fillRect(zero, bottom, 1, 4);
  }
  c.textAlign = 'left';
}

export interface Slice {
  rowAxis: number;
  columnAxis: number;
  /** Position along every axis; those of the two shown axes are not used. */
  index: number[];
}
export interface HeatOptions {
  slice: Slice;
  /** Only tell finite, NaN, infinite and zero elements apart. */
  faults: boolean;
}
export interface Heat {
  rows: number;
  columns: number;
  x: number;
  y: number;
  cell: number;
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

export function drawHeat({ context: c, width, height }: Surface, t: Tensor, s: Statistics, { slice, faults }: HeatOptions, dark: boolean): Heat {
  const strides = t.shape.map((_, i) => t.shape.slice(i + 1).reduce((a, b) => a * b, 1));
  const [rows, columns] = [slice.rowAxis < 0 ? 1 : t.shape[slice.rowAxis]!, slice.columnAxis < 0 ? 1 : t.shape[slice.columnAxis]!];
  let base = 0;
  t.shape.forEach((_, axis) => {
    if (axis !== slice.rowAxis && axis !== slice.columnAxis) base += (slice.index[axis] ?? 0) * strides[axis]!;
  });
  const position = (row: number, column: number) => base + (slice.rowAxis < 0 ? 0 : row * strides[slice.rowAxis]!) + (slice.columnAxis < 0 ? 0 : column * strides[slice.columnAxis]!);
  const ratio = devicePixelRatio || 1;
  const cell = Math.min((width - 20) / Math.max(1, columns), (height - 20) / Math.max(1, rows), 28);
  const [w, h] = [Math.max(1, Math.min(columns, Math.floor((width - 20) * ratio))), Math.max(1, Math.min(rows, Math.floor((height - 20) * ratio)))];
  const image = new ImageData(w, h);
  const signed = s.min < 0 && s.max > 0;
  const reach = signed ? Math.max(-s.min, s.max) : s.max - s.min;
  const value = (v: number): readonly [number, number, number] => {
    if (Number.isNaN(v)) return FAULTS.nan;
    if (!Number.isFinite(v)) return FAULTS.inf;
    if (faults) return v === 0 ? FAULTS.zero : ramp(0.08, false, dark);
    return ramp(reach > 0 ? (signed ? v / reach : (v - s.min) / reach) : 0.5, signed, dark);
  };
  // Many elements per pixel: the first fault, else the one farthest from zero among a few.
  const [perRow, perColumn] = [rows / h, columns / w];
  for (let y = 0; y < h; y++) {
    for (let x = 0; x < w; x++) {
      const [r0, r1] = [Math.floor(y * perRow), Math.max(Math.floor(y * perRow) + 1, Math.floor((y + 1) * perRow))];
      const [c0, c1] = [Math.floor(x * perColumn), Math.max(Math.floor(x * perColumn) + 1, Math.floor((x + 1) * perColumn))];
      const stride = Math.max(1, Math.floor(Math.sqrt(((r1 - r0) * (c1 - c0)) / 64)));
      let best = 0;
      let first = true;
      search: for (let r = r0; r < r1; r += stride) {
        for (let q = c0; q < c1; q += stride) {
          const v = t.at(position(r, q));
          if (!Number.isFinite(v)) {
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
  return { rows, columns, x: size.x, y: size.y, cell, position };
}
