// A canvas that keeps the size of its parent, draws at most once per frame, and is sharp on every screen.

import { colour } from '../colour';

export class Surface {
  readonly canvas = document.createElement('canvas');
  readonly context: CanvasRenderingContext2D;
  width = 0;
  height = 0;
  /** Duration of the last frames in milliseconds, for the benchmark. */
  frames: number[] = [];
  private queued = false;

  constructor(
    parent: HTMLElement,
    private paint: (surface: Surface) => void,
    label: string,
  ) {
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', label);
    this.context = this.canvas.getContext('2d', { alpha: false })!;
    parent.append(this.canvas);
    new ResizeObserver(() => this.resize(parent)).observe(parent);
    this.resize(parent);
  }

  private resize(parent: HTMLElement): void {
    const [width, height] = [parent.clientWidth, parent.clientHeight];
    if (width === 0 || height === 0) return;
    const ratio = devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawNow();
  }

  draw(): void {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      this.drawNow();
    });
  }

  drawNow(): void {
    if (this.width === 0 || !this.canvas.isConnected) return;
    const began = performance.now();
    this.context.fillStyle = colour('bg');
    this.context.fillRect(0, 0, this.width, this.height);
    this.paint(this);
    this.frames.push(performance.now() - began);
    if (this.frames.length > 600) this.frames.shift();
  }

  /** The place of a pointer event. */
  at(event: MouseEvent): [x: number, y: number] {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}

/** Text that fits a width, with an ellipsis where it does not. */
const widths = new Map<string, number>();
export function fit(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (width < 14) return '';
  const measure = (t: string) => {
    const key = context.font + t;
    let w = widths.get(key);
    if (w === undefined) {
      if (widths.size > 20_000) widths.clear();
      widths.set(key, (w = context.measureText(t).width));
    }
    return w;
  };
  if (text.length > 400) text = text.slice(0, 400);
  const full = measure(text);
  if (full <= width) return text;
  const keep = Math.floor((text.length * (width - 8)) / full);
  return keep < 2 ? '' : `${text.slice(0, keep)}…`;
}
