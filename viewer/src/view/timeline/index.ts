// Timeline: what ran when. The range in sight is kept for each trace while other views are shown.

import { effect } from '@preact/signals-core';
import { html, nothing, render } from 'lit-html';
import { kindVariable, theme } from '../../colour';
import * as f from '../../format';
import { focus, found, marks, select, selection } from '../../state';
import { word } from '../../trace/columns';
import type { Cause } from '../../analysis/types';
import { KIND_LABELS, KINDS } from '../../trace/kind';
import { duration, opLabel, opsOfLaunch, type Trace } from '../../trace/model';
import { Surface } from '../../ui/canvas';
import type { View } from '../../ui/shell';
import { showTip, type Tip } from '../../ui/tooltip';
import { Axis, control } from './axis';
import { draw, places, type Scene } from './draw';
import { neighbours } from './links';
import { lowerBound, MemoryCurve } from './lod';
import { launchMarks } from './marks';
import { type Range, rangeCard, totalsOf } from './range';

const SLOW: Record<Cause, string> = {
  first_launch: 'first launch of its kernel: compiled, or cold', first_touch: 'its memory is fresh from the system',
  shared: 'another stream of the device ran at the same time', outside: 'no cause in the trace: another process, or the system',
};

/** By file, because a large trace is shown before it is complete. */
const axes = new WeakMap<Blob, Axis>();
const curves = new WeakMap<Trace, MemoryCurve>();

export function curveOf(t: Trace): MemoryCurve {
  let curve = curves.get(t);
  if (!curve) {
    const { memory: m } = t.manifest;
    const [active, cache] = overDevices(t);
    curves.set(t, (curve = new MemoryCurve(t.memory.time_ns, active, cache, m.activeAtStart, m.cacheAtStart)));
  }
  return curve;
}

/** Each event has the figures of its own device; a curve is the sum of all devices. */
function overDevices({ memory }: Trace): [Float64Array, Float64Array] {
  const devices = memory.device.words.length;
  if (devices < 2) return [memory.active, memory.cache];
  const [active, cache] = [new Float64Array(memory.rows), new Float64Array(memory.rows)];
  const [lastActive, lastCache] = [new Float64Array(devices), new Float64Array(devices)];
  let [sum, kept] = [0, 0];
  for (let row = 0; row < memory.rows; row++) {
    const device = memory.device.codes[row]!;
    sum += memory.active[row]! - lastActive[device]!;
    kept += memory.cache[row]! - lastCache[device]!;
    [lastActive[device], lastCache[device]] = [memory.active[row]!, memory.cache[row]!];
    [active[row], cache[row]] = [sum, kept];
  }
  return [active, cache];
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
  return { t, axis: axisOf(t), curve: curveOf(t), scroll: 0, places: places(t, 100, false, 0), selected: -1, links: { producers: [], readers: [] }, hover: -1, matches: null, hostWaits, streamWaits, marks: launchMarks(t, marks.peek()), wait: -1, range: null, chain: false };
}

/** Position on a track of the launch at a time, or of the nearest within a few pixels. */
function launchAt(scene: Scene, track: number, time: number): number {
  const data = scene.t.tracks[track]!;
  const i = lowerBound(data.start, time + 1e-9) - 1;
  const near = 3 * scene.axis.step;
  for (let k = i; k >= Math.max(0, i - 3); k--) if (data.end[k]! + near >= time) return data.rows[k]!;
  return i + 1 < data.rows.length && data.start[i + 1]! - time < near ? data.rows[i + 1]! : -1;
}

function describe(t: Trace, launch: number, { marks }: Scene): Tip {
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
      ['slow', marks.slow.has(launch) ? SLOW[marks.slow.get(launch)!] : ''], ['numbers', ['', 'passes a NaN or infinity on', 'makes a NaN or infinity'][marks.odd[launch]!]!],
    ],
  };
}

/** What lies under a point. */
function under(scene: Scene, x: number, y: number): { launch: number; tip: Tip | null; region: number; wait: number } {
  const { t, axis, places: p } = scene;
  const none = { launch: -1, tip: null, region: -1, wait: -1 };
  if (x < axis.left) return none;
  const time = axis.time(x);
  const track = y < p.area.top || y >= p.area.bottom ? -1 : p.tracks.findIndex((spot) => y >= spot.top && y < spot.top + spot.height);
  const atWait = (rows: number[]) => {
    const row = rows.find((r) => t.sync.time_ns[r]! <= time && time <= t.sync.time_ns[r]! + t.sync.duration_ns[r]!);
    if (row === undefined) return none;
    const gain = scene.marks.gains.get(row);
    const tip: Tip = { title: `Waits for stream ${t.sync.waited_for[row]}`, lines: [['time', f.time(t.sync.duration_ns[row]!)], ['start', f.time(t.sync.time_ns[row]!)], ['without it', gain ? `−${f.time(gain)}` : '']] };
    return { ...none, wait: row, tip };
  };
  if (track >= 0) {
    const launch = launchAt(scene, track, time);
    return launch >= 0 ? { ...none, launch, tip: describe(t, launch, scene) } : atWait(scene.streamWaits.get(t.tracks[track]!.stream) ?? []);
  }
  if (p.host.height && y >= p.host.top && y < p.host.top + p.host.height) return atWait(scene.hostWaits);
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
      <span class="spacer muted" id="range"></span><button class="small" id="chain" aria-pressed="false" title="Draw the longest chain of launches that need each other (P)">Longest chain</button><button class="small" id="pick-range" title="Totals of what is in sight (R); or drag with Shift">Range</button><button class="small" id="fit" title="Everything in sight (Home)">Fit</button></div><div class="surface"></div>`, host);
    const range = host.querySelector('#range')!;
    const surface = new Surface(host.querySelector<HTMLElement>('.surface')!, (s) => {
      scene.places = places(t, s.height, scene.hostWaits.length > 0, scene.scroll);
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
    const tap = (event: PointerEvent) => {
      const hit = under(scene, ...surface.at(event));
      if (hit.launch >= 0) select('launch', hit.launch);
      else if (hit.wait >= 0) select('wait', hit.wait);
      else if (hit.region >= 0) {
        const region = t.regions[hit.region]!;
        const margin = (region.end - region.start) * 0.03;
        scene.axis.set(region.start - margin, region.end + margin);
        redraw();
      } else select('launch', -1);
    };
    const scroll = (pixels: number): boolean => {
      const { most } = scene.places.area;
      scene.scroll = Math.max(0, Math.min(most, scene.scroll + pixels));
      redraw();
      return most > 0;
    };
    const hover = (event: PointerEvent | null) => {
      const hit = event && under(scene, ...surface.at(event));
      showTip(hit?.tip ?? null, event?.clientX ?? 0, event?.clientY ?? 0);
      if ((hit?.launch ?? -1) !== scene.hover) {
        scene.hover = hit?.launch ?? -1;
        redraw();
      }
    };
    const card = document.createElement('div');
    host.append(card);
    const setRange = (range: Range | null) => {
      scene.range = range && range.end > range.begin ? range : null;
      render(scene.range ? rangeCard(t, scene.range, totalsOf(t, scene.range, scene.hostWaits, scene.streamWaits), () => setRange(null)) : nothing, card);
      redraw();
    };
    let from = 0;
    const sweep = {
      start(x: number) {
        from = scene.axis.time(x);
        return x >= scene.axis.left;
      },
      move(x: number) {
        const to = scene.axis.time(x);
        scene.range = { begin: Math.min(from, to), end: Math.max(from, to) };
        redraw();
      },
      end: () => setRange(scene.range),
    };
    control(canvas, scene.axis, { changed: redraw, tap, scroll, hover, sweep });
    const inSight = () => setRange(scene.range ? null : { begin: Math.max(t.begin, scene.axis.begin), end: Math.min(t.end, scene.axis.end) });
    const chainButton = host.querySelector<HTMLElement>('#chain')!;
    const toggleChain = () => {
      scene.chain = !scene.chain;
      chainButton.setAttribute('aria-pressed', String(scene.chain));
      redraw();
    };
    chainButton.onclick = toggleChain;
    host.querySelector<HTMLElement>('#pick-range')!.onclick = inSight;
    canvas.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || (event.key !== 'p' && event.key !== 'r')) return;
      event.preventDefault();
      if (event.key === 'p') toggleChain();
      else inSight();
    });
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
        scene.marks = launchMarks(t, marks.value);
        redraw();
      }),
      effect(() => {
        const { launch, op } = focus.value;
        scene.selected = launch;
        const s = selection.value;
        scene.wait = s?.kind === 'wait' ? s.row : -1;
        if (scene.wait >= 0) scene.axis.reveal(t.sync.time_ns[scene.wait]!, t.sync.time_ns[scene.wait]! + t.sync.duration_ns[scene.wait]!);
        scene.links = neighbours(t, launch, op);
        if (launch >= 0) revealTrack(scene, launch);
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

/** Scrolls to the track of a launch, if it is out of sight. */
function revealTrack(scene: Scene, launch: number): void {
  const { area, tracks } = scene.places;
  const place = tracks[scene.t.tracks.findIndex((track) => track.stream === scene.t.launches.stream[launch])];
  if (!place || area.most <= 0) return;
  if (place.top < area.top) scene.scroll -= area.top - place.top;
  else if (place.top + place.height > area.bottom) scene.scroll += place.top + place.height - area.bottom;
}

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
