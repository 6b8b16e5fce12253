// What happened in a range of time: how busy each stream was, which kernels took the time, and why the rest was idle.

import { html, nothing, type TemplateResult } from 'lit-html';
import { kindVariable } from '../../colour';
import * as f from '../../format';
import { show } from '../../state';
import type { Trace } from '../../trace/model';
import { lowerBound } from './lod';

export interface Range {
  begin: number;
  end: number;
}
export interface StreamRange {
  label: string;
  launches: number;
  busy: number;
  /** Time in which nothing ran, by what it waited for. */
  idle: { stream: number; host: number; other: number };
}
export interface RangeTotals {
  launches: number;
  busy: number;
  streams: StreamRange[];
  /** Kernels by their time in the range, most first. */
  kernels: { kernel: number; time: number; launches: number }[];
}

/** The part of a span that lies in another. */
const overlap = (a: number, b: number, from: number, to: number): number => Math.max(0, Math.min(b, to) - Math.max(a, from));

/** Time of `gap` that these waits cover; they may overlap each other. */
function covered(t: Trace, rows: number[], from: number, to: number): number {
  let [sum, end] = [0, from];
  for (const row of rows) {
    const [a, b] = [t.sync.time_ns[row]!, t.sync.time_ns[row]! + t.sync.duration_ns[row]!];
    if (b <= end || a >= to) continue;
    sum += Math.min(b, to) - Math.max(a, end);
    end = Math.min(b, to);
  }
  return sum;
}

export function totalsOf(t: Trace, { begin, end }: Range, hostWaits: number[], streamWaits: Map<number, number[]>): RangeTotals {
  const kernels = new Map<number, { time: number; launches: number }>();
  const totals: RangeTotals = { launches: 0, busy: 0, streams: [], kernels: [] };
  for (const track of t.tracks) {
    const stream: StreamRange = { label: `${track.stream} ${track.label}`, launches: 0, busy: 0, idle: { stream: 0, host: 0, other: 0 } };
    const idle = (from: number, to: number) => {
      if (to <= from) return;
      const waiting = covered(t, streamWaits.get(track.stream) ?? [], from, to);
      const host = Math.min(to - from - waiting, covered(t, hostWaits, from, to));
      stream.idle.stream += waiting;
      stream.idle.host += host;
      stream.idle.other += to - from - waiting - host;
    };
    let last = begin;
    for (let i = Math.max(0, lowerBound(track.start, begin) - 1); i < track.rows.length && track.start[i]! < end; i++) {
      const time = overlap(track.start[i]!, track.end[i]!, begin, end);
      if (time <= 0) continue;
      idle(last, Math.max(last, track.start[i]!));
      last = Math.max(last, Math.min(end, track.end[i]!));
      stream.launches++;
      stream.busy += time;
      const kernel = t.kernelOfLaunch[track.rows[i]!]!;
      const known = kernels.get(kernel) ?? { time: 0, launches: 0 };
      kernels.set(kernel, { time: known.time + time, launches: known.launches + 1 });
    }
    idle(last, end);
    totals.launches += stream.launches;
    totals.busy += stream.busy;
    totals.streams.push(stream);
  }
  totals.kernels = [...kernels].map(([kernel, found]) => ({ kernel, ...found })).sort((a, b) => b.time - a.time);
  return totals;
}

/** The card over the timeline. */
export function rangeCard(t: Trace, range: Range, totals: RangeTotals, close: () => void): TemplateResult {
  const span = range.end - range.begin;
  const causes = ({ idle }: StreamRange) => [[idle.stream, 'waiting for another stream'], [idle.host, 'while the host waited'], [idle.other, 'nothing was handed over']]
    .filter(([time]) => (time as number) > 0).map(([time, why]) => `${f.time(time as number)} ${why}`).join(', ');
  return html`<section class="card range" aria-label="Selected range">
    <header><h2>${f.time(span)}</h2><span class="muted">from ${f.time(range.begin)}</span><button class="small" aria-label="Close the range" @click=${close}>✕</button></header>
    <p>${f.plural(totals.launches, 'launch', 'launches')}, ${f.time(totals.busy)} of running</p>
    <table><thead><tr><th>Kernel</th><th class="right">Time</th><th class="right">Share</th><th class="right">Launches</th></tr></thead>
      <tbody>${totals.kernels.slice(0, 6).map(({ kernel, time, launches }) => html`<tr><td><i class="swatch" .style=${`background:${kindVariable(t.kernels[kernel]!.kind)}`}></i><button class="link" @click=${() => show('kernels', 'kernel', kernel)}>${t.kernels[kernel]!.name}</button></td>
        <td class="right">${f.time(time)}</td><td class="right">${f.percent(time, totals.busy)}</td><td class="right">${f.count(launches)}</td></tr>`)}</tbody></table>
    ${totals.kernels.length > 6 ? html`<p class="muted">and ${f.plural(totals.kernels.length - 6, 'more kernel', 'more kernels')}</p>` : nothing}
    <table><thead><tr><th>Stream</th><th class="right">Busy</th><th>Idle</th></tr></thead>
      <tbody>${totals.streams.filter((stream) => stream.launches > 0 || totals.streams.length < 6).map((stream) => html`<tr><td>${stream.label}</td><td class="right">${f.percent(stream.busy, span)}</td><td>${causes(stream) || '–'}</td></tr>`)}</tbody></table>
  </section>`;
}
