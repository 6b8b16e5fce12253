// The time axis: what range is in sight, how to move it, and its marks.

import * as f from '../../format';
import { follow, type Gestures } from '../../ui/gesture';

export class Axis {
  begin: number;
  end: number;
  left = 0;
  width = 1;
  constructor(
    private low: number,
    private high: number,
  ) {
    const margin = (high - low) * 0.01;
    this.begin = low - margin;
    this.end = high + margin;
  }
  get step(): number {
    return (this.end - this.begin) / this.width;
  }
  x(time: number): number {
    return this.left + ((time - this.begin) / (this.end - this.begin)) * this.width;
  }
  time(x: number): number {
    return this.begin + ((x - this.left) / this.width) * (this.end - this.begin);
  }
  /** Keeps the range sensible: no closer than 20 ns, no farther than everything with a margin. */
  set(begin: number, end: number): void {
    const span = Math.min(Math.max(end - begin, 20), (this.high - this.low) * 1.2 + 100);
    const margin = span * 0.5;
    const from = Math.min(Math.max(begin, this.low - margin), this.high + margin - span);
    this.begin = from;
    this.end = from + span;
  }
  all(): void {
    const margin = (this.high - this.low) * 0.01;
    this.set(this.low - margin, this.high + margin);
  }
  zoom(factor: number, x: number): void {
    const at = this.time(x);
    const span = (this.end - this.begin) * factor;
    const part = (x - this.left) / this.width;
    this.set(at - span * part, at - span * part + span);
  }
  pan(pixels: number): void {
    const by = pixels * this.step;
    this.set(this.begin + by, this.end + by);
  }
  /** Brings a range into sight, moving no more than needed. */
  reveal(from: number, to: number): void {
    const span = this.end - this.begin;
    if (to - from > span || (to - from) / span < 0.002) {
      const wide = Math.max((to - from) * 40, 200);
      const next = to - from > span ? (to - from) * 1.2 : Math.min(span, wide);
      this.set((from + to) / 2 - next / 2, (from + to) / 2 + next / 2);
    } else if (from < this.begin || to > this.end) {
      this.set((from + to) / 2 - span / 2, (from + to) / 2 + span / 2);
    }
  }
  /** Round times, about 110 pixels apart. */
  marks(): { time: number; text: string }[] {
    const rough = (this.step * 110) || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1);
    const out: { time: number; text: string }[] = [];
    for (let i = Math.ceil(this.begin / step); i * step <= this.end && out.length < 60; i++) out.push({ time: i * step, text: f.moment(i * step, step) });
    return out;
  }
}

export interface Control {
  changed(): void;
  tap(event: PointerEvent): void;
  /** Moves the tracks up and down; false if there is nothing to move. */
  scroll?(pixels: number): boolean;
  hover?: Gestures['hover'];
  sweep?: Gestures['sweep'];
}

/** Wheel, drag, pinch and keys for everything with a time axis. */
export function control(canvas: HTMLCanvasElement, axis: Axis, { changed, tap, scroll, hover, sweep }: Control): void {
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    const x = event.clientX - canvas.getBoundingClientRect().left;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) axis.pan(event.deltaX || event.deltaY);
    else if (x >= axis.left || !scroll?.(event.deltaY)) axis.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.0022))), x);
    changed();
  }, { passive: false });
  follow(canvas, {
    tap,
    ...(hover ? { hover } : {}),
    ...(sweep ? { sweep } : {}),
    pan(dx, dy) {
      axis.pan(-dx);
      scroll?.(-dy);
      changed();
    },
    pinch(factor, x) {
      axis.zoom(1 / factor, x);
      changed();
    },
  });
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = axis.left + axis.width / 2;
    switch (event.key.toLowerCase()) {
      case 'w': axis.zoom(1 / 1.4, middle); break;
      case 's': axis.zoom(1.4, middle); break;
      case 'a': axis.pan(-axis.width * 0.15); break;
      case 'd': axis.pan(axis.width * 0.15); break;
      case 'home': axis.all(); break;
      case 'pageup': scroll?.(-canvas.clientHeight / 2); break;
      case 'pagedown': scroll?.(canvas.clientHeight / 2); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
    changed();
  });
}
