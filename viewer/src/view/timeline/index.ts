// Timeline: what ran when. The range in sight is kept for each trace while other views are shown.

import { effect } from '@preact/signals-core';
import { html, render } from 'lit-html';
import { kindVariable, theme } from '../../colour';
import * as f from '../../format';
import { focus, found, select } from '../../state';
import { word } from '../../trace/columns';
import { KIND_LABELS, KINDS } from '../../trace/kind';
import { duration, opLabel, opsOfLaunch, type Trace } from '../../trace/model';
import { Surface } from '../../ui/canvas';
import type { View } from '../../ui/shell';
import { showTip, type Tip } from '../../ui/tooltip';
import { Axis, control } from './axis';
import { draw, GUTTER, places, type Scene } from './draw';
import { neighbours } from './links';
import { lowerBound, MemoryCurve } from './lod';

/** By file, because a large trace is shown before it is complete. */
const axes = new WeakMap<Blob, Axis>();
const curves = new WeakMap<Trace, MemoryCurve>();

export function curveOf(t: Trace): MemoryCurve {
  let curve = curves.get(t);
  if (!curve) {
    const { memory: m } = t.manifest;
    curves.set(t, (curve = new MemoryCurve(t.memory.time_ns, t.memory.active, t.memory.cache, m.activeAtStart, m.cacheAtStart)));
  }
  return curve;
}

export function axisOf(t: Trace): Axis {
  let axis = axes.get(t.file);
  if (!axis) axes.set(t.file, (axis = new Axis(t.begin, t.end)));
  return axis;
}

function makeScene(t: Trace): Scene {
  const hostWaits: number[] = [];
  const streamWaits = new Map<number, number[]>();
  for (let row = 0; row < t.sync.rows; row++) {
    const waiter = t.sync.waiter[row]!;
    if (waiter < 0) hostWaits.push(row);
    else if (streamWaits.has(waiter)) streamWaits.get(waiter)!.push(row);
    else streamWaits.set(waiter, [row]);
  }
  return { t, axis: axisOf(t), curve: curveOf(t), places: places(t, 100, false), selected: -1, links: { producers: [], readers: [] }, hover: -1, matches: null, hostWaits, streamWaits };
}

/** Position on a track of the launch at a time, or of the nearest within a few pixels. */
function launchAt(scene: Scene, track: number, time: number): number {
  const data = scene.t.tracks[track]!;
  const i = lowerBound(data.start, time + 1e-9) - 1;
  const near = 3 * scene.axis.step;
  for (let k = i; k >= Math.max(0, i - 3); k--) if (data.end[k]! + near >= time) return data.rows[k]!;
  return i + 1 < data.rows.length && data.start[i + 1]! - time < near ? data.rows[i + 1]! : -1;
}

function describe(t: Trace, launch: number): Tip {
  const ops = opsOfLaunch(t, launch);
  const l = t.launches;
  const time = duration(t, launch);
  return {
    title: word(l.kernel, launch),
    lines: [
      ['launch', `#${l.id[launch]} on stream ${l.stream[launch]}`], ['time', `${f.time(time)}  (${f.count(time)} ns)`], ['start', f.time(l.start_ns[launch]!)],
      ['moved', l.bytes[launch]! > 0 ? `${f.bytes(l.bytes[launch]!)}, ${f.rate(l.bytes[launch]!, time, 'B/s')}` : ''],
      ['computed', l.flops[launch]! > 0 ? `${f.measure(l.flops[launch]!, 'FLOP')}, ${f.rate(l.flops[launch]!, time, 'FLOP/s')}` : ''],
      ['ops', ops.slice(0, 6).map((op) => opLabel(t, op)).join(', ') + (ops.length > 6 ? ', …' : '')],
      ['call site', ops.length > 0 ? word(t.ops.call_site, ops.at(-1)!) : ''],
    ],
  };
}

/** What lies under a point. */
function under(scene: Scene, x: number, y: number): { launch: number; tip: Tip | null; region: number } {
  const { t, axis, places: p } = scene;
  const none = { launch: -1, tip: null, region: -1 };
  if (x < GUTTER) return none;
  const time = axis.time(x);
  const track = p.tracks.findIndex((spot) => y >= spot.top && y < spot.top + spot.height);
  const waitTip = (rows: number[]): Tip | null => {
    const row = rows.find((r) => t.sync.time_ns[r]! <= time && time <= t.sync.time_ns[r]! + t.sync.duration_ns[r]!);
    return row === undefined ? null : { title: `Waits for stream ${t.sync.waited_for[row]}`, lines: [['time', f.time(t.sync.duration_ns[row]!)], ['start', f.time(t.sync.time_ns[row]!)]] };
  };
  if (track >= 0) {
    const launch = launchAt(scene, track, time);
    return launch >= 0 ? { launch, tip: describe(t, launch), region: -1 } : { ...none, tip: waitTip(scene.streamWaits.get(t.tracks[track]!.stream) ?? []) };
  }
  if (p.host.height && y >= p.host.top && y < p.host.top + p.host.height) return { ...none, tip: waitTip(scene.hostWaits) };
  if (p.memory.height && y >= p.memory.top) {
    const [active, total] = scene.curve.at(time);
    return { ...none, tip: { title: 'Memory', lines: [['time', f.time(time)], ['active', `${f.bytes(active)}  (${f.count(active)} B)`], ['cache', f.bytes(total - active)]] } };
  }
  const depth = Math.floor((y - p.regions.top) / 18);
  const region = t.regions.find((r) => r.depth === depth && r.start <= time && time <= r.end);
  if (region && y >= p.regions.top) return { ...none, region: region.row, tip: { title: region.name, lines: [['time', f.time(region.end - region.start)], ['start', f.time(region.start)], ['thread', region.thread]] } };
  return none;
}

export const timeline: View = {
  panel: true,
  open(host, t) {
    const scene = makeScene(t);
    const used = new Set<number>(t.kindOfLaunch);
    render(html`<div class="tools"><span class="legend">${[...used].sort((a, b) => b - a).map((kind) => html`<span><i class="swatch" .style=${`background:${kindVariable(kind)}`}></i>${KIND_LABELS[KINDS[kind]!]}</span>`)}</span>
      <span class="spacer muted" id="range"></span><button class="small" id="fit" title="Everything in sight (Home)">Fit</button></div><div class="surface"></div>`, host);
    const range = host.querySelector('#range')!;
    const surface = new Surface(host.querySelector<HTMLElement>('.surface')!, (s) => {
      scene.places = places(t, s.height, scene.hostWaits.length > 0);
      draw(s, scene);
      range.textContent = `${f.time(scene.axis.end - scene.axis.begin)} in sight`;
    }, 'Timeline of launches by stream, with memory below');
    (host as HTMLElement & { surface?: Surface }).surface = surface;
    const { canvas } = surface;
    const redraw = () => surface.draw();
    host.querySelector<HTMLElement>('#fit')!.onclick = () => {
      scene.axis.all();
      redraw();
    };
    control(canvas, scene.axis, redraw, (event) => {
      const hit = under(scene, ...surface.at(event));
      if (hit.launch >= 0) select('launch', hit.launch);
      else if (hit.region >= 0) {
        const region = t.regions[hit.region]!;
        const margin = (region.end - region.start) * 0.03;
        scene.axis.set(region.start - margin, region.end + margin);
        redraw();
      } else select('launch', -1);
    });
    canvas.onmousemove = (event) => {
      const hit = under(scene, ...surface.at(event));
      showTip(event.buttons ? null : hit.tip, event.clientX, event.clientY);
      if (hit.launch !== scene.hover) {
        scene.hover = hit.launch;
        redraw();
      }
    };
    canvas.onmouseleave = () => showTip(null, 0, 0);
    canvas.ondblclick = (event) => {
      const hit = under(scene, ...surface.at(event));
      if (hit.launch < 0) return;
      const time = Math.max(duration(t, hit.launch), 20);
      scene.axis.set(t.launches.start_ns[hit.launch]! - time * 2, t.launches.end_ns[hit.launch]! + time * 2);
      redraw();
    };
    canvas.addEventListener('keydown', (event) => keys(event, scene, redraw));
    const stops = [
      effect(() => {
        theme.value;
        redraw();
      }),
      effect(() => {
        const { launch, op } = focus.value;
        scene.selected = launch;
        scene.links = neighbours(t, launch, op);
        if (launch >= 0) scene.axis.reveal(t.launches.start_ns[launch]!, t.launches.end_ns[launch]!);
        redraw();
      }),
      effect(() => {
        const hits = found.value;
        scene.matches = hits && {
          launches: hits.launches,
          sums: t.tracks.map(({ rows }) => {
            const sums = new Uint32Array(rows.length + 1);
            for (let i = 0; i < rows.length; i++) sums[i + 1] = sums[i]! + hits.launches[rows[i]!]!;
            return sums;
          }),
        };
        redraw();
      }),
    ];
    canvas.focus({ preventScroll: true });
    return () => {
      stops.forEach((stop) => stop());
      showTip(null, 0, 0);
    };
  },
};

/** Arrow keys walk along a track and to the tracks beside it. */
function keys(event: KeyboardEvent, scene: Scene, redraw: () => void): void {
  const { t, selected, axis } = scene;
  const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (event.key === 'f' && selected >= 0) {
    const time = Math.max(duration(t, selected), 20);
    axis.set(t.launches.start_ns[selected]! - time * 8, t.launches.end_ns[selected]! + time * 8);
    redraw();
  } else if (step) {
    const now = selected < 0 ? -1 : t.tracks.findIndex((track) => track.stream === t.launches.stream[selected]);
    let next = -1;
    if (now < 0) {
      const track = t.tracks.find((candidate) => candidate.rows.length > 0);
      next = track ? track.rows[Math.min(track.rows.length - 1, lowerBound(track.start, axis.begin))]! : -1;
    } else if (step[0]) {
      const { rows } = t.tracks[now]!;
      next = rows[rows.indexOf(selected) + step[0]] ?? -1;
    } else {
      for (let k = now + step[1]!; k >= 0 && k < t.tracks.length && next < 0; k += step[1]!) {
        const track = t.tracks[k]!;
        if (track.rows.length > 0) next = track.rows[Math.max(0, Math.min(track.rows.length - 1, lowerBound(track.start, t.launches.start_ns[selected]!)))]!;
      }
    }
    if (next >= 0) select('launch', next);
  } else return;
  event.preventDefault();
  event.stopPropagation();
}
