// Level of detail: what a stretch of a track, or of the memory curve, looks like when it is one pixel wide.

import type { Track } from '../../trace/model';

/** First index whose value is at least `value`. */
export function lowerBound(values: Float64Array, value: number, from = 0, to = values.length): number {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle]! < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The same, for a walk from left to right: looks near `from` first. */
function gallop(values: Float64Array, value: number, from: number): number {
  let [low, step] = [from, 1];
  while (low + step < values.length && values[low + step]! < value) {
    low += step;
    step *= 2;
  }
  return lowerBound(values, value, low, Math.min(values.length, low + step));
}

const SAMPLES = 12;

/**
 * Walks over pixels of `step` nanoseconds. For each with something in it, tells the part of it that is busy, the
 * position of its longest launch (among a few samples), and the range of launches that start in it. Pixels lie on a
 * fixed grid of time, so that nothing flickers while the view moves.
 */
export function pixels(track: Track, begin: number, end: number, step: number, paint: (time: number, busy: number, longest: number, from: number, to: number) => void): void {
  const { start, end: ends, busy } = track;
  const first = Math.floor(begin / step);
  const last = Math.ceil(end / step);
  let from = lowerBound(start, first * step);
  for (let pixel = first; pixel < last; pixel++) {
    const [left, right] = [pixel * step, (pixel + 1) * step];
    const to = gallop(start, right, from);
    let sum = busy[to]! - busy[from]!;
    let longest = -1;
    let length = -1;
    if (to > from) {
      const stride = Math.max(1, Math.floor((to - from) / SAMPLES));
      for (let i = from; i < to; i += stride) {
        const size = ends[i]! - start[i]!;
        if (size > length) [length, longest] = [size, i];
      }
    }
    if (from > 0 && ends[from - 1]! > left) {
      const size = Math.min(ends[from - 1]!, right) - left;
      sum += size;
      if (size > length) longest = from - 1;
    }
    if (longest >= 0) paint(left, Math.min(1, sum / step), longest, from, to);
    from = to;
  }
}

/** Largest value of any range, from the largest values of blocks. */
export class RangeMax {
  private blocks: Float64Array;
  constructor(private values: Float64Array) {
    this.blocks = new Float64Array(Math.ceil(values.length / 64));
    for (let i = 0; i < values.length; i++) if (values[i]! > this.blocks[i >> 6]!) this.blocks[i >> 6] = values[i]!;
  }
  max(from: number, to: number): number {
    let best = 0;
    let i = from;
    for (; i < to && i & 63; i++) if (this.values[i]! > best) best = this.values[i]!;
    for (; i + 64 <= to; i += 64) if (this.blocks[i >> 6]! > best) best = this.blocks[i >> 6]!;
    for (; i < to; i++) if (this.values[i]! > best) best = this.values[i]!;
    return best;
  }
}

/** The memory curve, ready to be asked for any range of time. */
export class MemoryCurve {
  readonly peak: number;
  readonly time: Float64Array;
  private active: Float64Array;
  private total: Float64Array;
  private activeMax: RangeMax;
  private totalMax: RangeMax;

  constructor(
    time: Float64Array,
    active: Float64Array,
    cache: Float64Array,
    private startActive: number,
    private startCache: number,
  ) {
    const order = new Uint32Array(time.length).map((_, i) => i);
    let sorted = true;
    for (let i = 1; i < time.length && sorted; i++) sorted = time[i]! >= time[i - 1]!;
    if (!sorted) order.sort((a, b) => time[a]! - time[b]! || a - b);
    this.time = Float64Array.from(order, (i) => time[i]!);
    this.active = Float64Array.from(order, (i) => active[i]!);
    this.total = Float64Array.from(order, (i) => active[i]! + cache[i]!);
    this.activeMax = new RangeMax(this.active);
    this.totalMax = new RangeMax(this.total);
    this.peak = Math.max(this.totalMax.max(0, time.length), startActive + startCache, 1);
  }

  /** Active and active-with-cache memory just before event `i`. */
  before(i: number): [active: number, total: number] {
    return i === 0 ? [this.startActive, this.startActive + this.startCache] : [this.active[i - 1]!, this.total[i - 1]!];
  }

  at(time: number): [active: number, total: number] {
    return this.before(lowerBound(this.time, time + 1));
  }

  /** Largest values within each pixel, drawn from left to right. */
  pixels(begin: number, step: number, width: number, paint: (x: number, active: number, total: number) => void): void {
    let from = lowerBound(this.time, begin);
    for (let x = 0; x < width; x++) {
      const to = gallop(this.time, begin + (x + 1) * step, from);
      const [a, t] = this.before(from);
      paint(x, Math.max(a, this.activeMax.max(from, to)), Math.max(t, this.totalMax.max(from, to)));
      from = to;
    }
  }
}
