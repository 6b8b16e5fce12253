// Both timelines over one axis: what ran longer, later or not at all is seen at a glance. They are aligned at their
// beginning, or where a region of the same name begins; a launch and its counterpart are joined by a line.

import { colour, kindColour } from '../../colour';
import * as f from '../../format';
import { word } from '../../trace/columns';
import { opsOfLaunch, type Trace, type Track } from '../../trace/model';
import { fit, Surface } from '../../ui/canvas';
import { showTip } from '../../ui/tooltip';
import { Axis, control } from '../timeline/axis';
import { lowerBound, pixels } from '../timeline/lod';
import type { Pairs } from './pairs';

const RULER = 22;
const NAME = 20;
const GUTTER = 116;
/** Tracks of one trace that are drawn; those with the most work come first. */
const MOST_TRACKS = 8;

interface Side {
  t: Trace;
  /** What its times are counted from. */
  zero: number;
  tracks: Track[];
  top: number;
  height: number;
}
/** A launch: which trace, which row. */
export interface Picked {
  side: number;
  launch: number;
}

/** Names of regions that both traces have, in the order of the first. */
export function commonRegions(a: Trace, b: Trace): string[] {
  const there = new Set(b.regions.map((region) => region.name));
  return [...new Set(a.regions.map((region) => region.name))].filter((name) => there.has(name)).slice(0, 200);
}

export class Timelines {
  readonly surface: Surface;
  picked: Picked | null = null;
  private sides: [Side, Side];
  private axis: Axis;

  constructor(parent: HTMLElement, traces: [Trace, Trace], private pairs: Pairs, private choose: (picked: Picked) => void) {
    this.sides = traces.map((t) => {
      const tracks = t.tracks.filter((track) => track.rows.length > 0).sort((x, y) => y.busy.at(-1)! - x.busy.at(-1)!).slice(0, MOST_TRACKS).sort((x, y) => x.stream - y.stream);
      return { t, zero: t.begin, tracks, top: 0, height: 0 };
    }) as [Side, Side];
    this.axis = this.newAxis();
    this.surface = new Surface(parent, (surface) => this.draw(surface), 'Timelines of both traces over one axis');
    this.follow();
  }

  /** Aligns both where a region of this name first begins; '' where their windows begin. */
  align(region: string): void {
    for (const side of this.sides) side.zero = (region ? side.t.regions.find(({ name }) => name === region)?.start : undefined) ?? side.t.begin;
    const next = this.newAxis();
    [next.left, next.width] = [this.axis.left, this.axis.width];
    Object.assign(this.axis, next);
    this.surface.draw();
  }

  /** The counterpart of a launch in the other trace, or null. */
  counterpart({ side, launch }: Picked): Picked | null {
    const [here, there] = [this.sides[side]!, this.sides[1 - side]!];
    for (const op of opsOfLaunch(here.t, launch).reverse()) {
      const row = side === 0 ? this.pairs.second(op) : this.pairs.first(op);
      const found = row < 0 ? -1 : there.t.launchOfOp[row]!;
      if (found >= 0) return { side: 1 - side, launch: found };
    }
    return null;
  }

  private newAxis(): Axis {
    const low = Math.min(...this.sides.map(({ t, zero }) => t.begin - zero));
    const high = Math.max(...this.sides.map(({ t, zero }) => t.end - zero));
    return new Axis(low, high);
  }

  private follow(): void {
    const { canvas } = this.surface;
    control(canvas, this.axis, {
      changed: () => this.surface.draw(),
      tap: (event) => {
        const found = this.at(...this.surface.at(event));
        this.picked = found;
        if (found) this.choose(found);
        this.surface.draw();
      },
      hover: (event) => {
        const found = event && this.at(...this.surface.at(event));
        if (!event || !found) return showTip(null, 0, 0);
        const { t } = this.sides[found.side]!;
        const time = (picked: Picked) => {
          const { launches } = this.sides[picked.side]!.t;
          return launches.end_ns[picked.launch]! - launches.start_ns[picked.launch]!;
        };
        const twin = this.counterpart(found);
        const own = time(found);
        const lines: [string, string][] = [['duration', f.time(own)], [found.side === 0 ? 'in the second' : 'in the first', twin ? f.time(time(twin)) : 'not there']];
        if (twin) lines.push(['change', found.side === 0 ? f.change(own, time(twin)) : f.change(time(twin), own)]);
        showTip({ title: word(t.launches.kernel, found.launch), lines }, event.clientX, event.clientY);
      },
    });
    canvas.addEventListener('pointerleave', () => showTip(null, 0, 0));
    canvas.addEventListener('keydown', (event) => {
      const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
      if (!step) return;
      event.preventDefault();
      const side = this.picked?.side ?? 0;
      const { launches } = this.sides[side]!.t;
      const launch = Math.max(0, Math.min(launches.rows - 1, (this.picked?.launch ?? -step) + step));
      if (launches.rows === 0) return;
      this.picked = { side, launch };
      this.axis.reveal(launches.start_ns[launch]! - this.sides[side]!.zero, launches.end_ns[launch]! - this.sides[side]!.zero);
      this.choose(this.picked);
      this.surface.draw();
    });
  }

  private place(side: Side, track: number): { y: number; h: number } {
    const h = side.height / Math.max(1, side.tracks.length);
    return { y: side.top + NAME + track * h + 1, h: h - 2 };
  }

  private at(x: number, y: number): Picked | null {
    if (x < this.axis.left) return null;
    for (const [number, side] of this.sides.entries()) {
      const time = this.axis.time(x) + side.zero;
      for (const [i, track] of side.tracks.entries()) {
        const { y: top, h } = this.place(side, i);
        if (y < top || y > top + h) continue;
        const slack = this.axis.step * 3;
        const last = lowerBound(track.start, time + slack) - 1;
        if (last >= 0 && track.end[last]! >= time - slack) return { side: number, launch: track.rows[last]! };
      }
    }
    return null;
  }

  private draw({ context: c, width, height }: Surface): void {
    const { axis } = this;
    axis.left = width < 600 ? 70 : GUTTER;
    axis.width = Math.max(10, width - axis.left);
    c.font = '12px system-ui, sans-serif';
    c.textBaseline = 'middle';
    c.strokeStyle = colour('line');
    c.fillStyle = colour('muted');
    for (const { time, text } of axis.marks()) {
      const x = axis.x(time);
      if (x < axis.left) continue;
      c.beginPath();
      c.moveTo(x + 0.5, RULER);
      c.lineTo(x + 0.5, height);
      c.stroke();
      c.fillText(fit(c, text, width - x - 4), x + 3, RULER / 2);
    }
    const all = this.sides[0].tracks.length + this.sides[1].tracks.length;
    let top = RULER;
    for (const side of this.sides) {
      side.top = top;
      side.height = ((height - RULER - 2 * NAME) * side.tracks.length) / Math.max(1, all);
      top += side.height + NAME;
    }
    this.sides.forEach((side, number) => this.drawSide(c, side, number));
    this.drawPicked(c, height);
  }

  private drawSide(c: CanvasRenderingContext2D, side: Side, number: number): void {
    const { axis } = this;
    c.fillStyle = colour('panel');
    c.fillRect(0, side.top, axis.left + axis.width, NAME - 1);
    c.fillStyle = colour('text');
    c.fillText(fit(c, `${number === 0 ? 'First' : 'Second'}: ${side.t.name}, ${f.time(side.t.end - side.t.begin)}`, axis.width), 8, side.top + NAME / 2);
    side.tracks.forEach((track, i) => {
      const { y, h } = this.place(side, i);
      c.fillStyle = colour('muted');
      c.fillText(fit(c, `${track.stream} ${track.label}`, axis.left - 12), 8, y + h / 2);
      pixels(track, axis.begin + side.zero, axis.end + side.zero, axis.step, (time, busy, longest) => {
        const row = track.rows[longest]!;
        const [from, to] = [axis.x(track.start[longest]! - side.zero), axis.x(track.end[longest]! - side.zero)];
        c.fillStyle = kindColour(side.t.kindOfLaunch[row]!);
        if (to - from < 2) {
          c.globalAlpha = 0.35 + 0.65 * busy;
          c.fillRect(Math.max(axis.left, axis.x(time - side.zero)), y, 1.2, h);
          c.globalAlpha = 1;
        } else {
          const x = Math.max(axis.left, from);
          c.fillRect(x, y, Math.max(1, to - x - 0.5), h);
          if (this.pairs.any && this.counterpart({ side: number, launch: row }) === null) {
            c.fillStyle = colour('bad');
            c.fillRect(x, y, Math.max(1, to - x - 0.5), 3);
          }
        }
      });
    });
  }

  private drawPicked(c: CanvasRenderingContext2D, height: number): void {
    if (!this.picked) return;
    const boxes = [this.picked, this.counterpart(this.picked)].flatMap((picked) => {
      if (!picked) return [];
      const side = this.sides[picked.side]!;
      const { launches } = side.t;
      const track = side.tracks.findIndex(({ stream }) => stream === launches.stream[picked.launch]);
      if (track < 0) return [];
      const [x0, x1] = [launches.start_ns[picked.launch]!, launches.end_ns[picked.launch]!].map((time) => this.axis.x(time - side.zero)) as [number, number];
      return [{ x0, x1, ...this.place(side, track), side: picked.side }];
    });
    c.strokeStyle = colour('text');
    c.lineWidth = 2;
    c.save();
    c.beginPath();
    c.rect(this.axis.left, 0, this.axis.width, height);
    c.clip();
    for (const { x0, x1, y, h } of boxes) c.strokeRect(x0 - 1, y - 1, Math.max(3, x1 - x0 + 2), h + 2);
    const [one, two] = boxes.sort((p, q) => p.side - q.side);
    if (one && two) {
      c.setLineDash([4, 3]);
      for (const end of ['x0', 'x1'] as const) {
        c.beginPath();
        c.moveTo(one[end], one.y + one.h);
        c.lineTo(two[end], two.y);
        c.stroke();
      }
      c.setLineDash([]);
    }
    c.restore();
    c.lineWidth = 1;
  }
}
