// What a person should look at first, found by simple rules over the whole trace.

import * as f from '../../format';
import type { Selection, ViewName } from '../../state';
import { word } from '../../trace/columns';
import { KINDS } from '../../trace/kind';
import { duration, inputsOf, isUnused, opLabel, type Trace } from '../../trace/model';

export interface Insight {
  level: 'bad' | 'warn' | 'note';
  text: string;
  /** Where to look. */
  go?: { view: ViewName; kind: Selection['kind']; row: number };
}

/** Operations whose result has NaN or Inf although everything they read is finite. */
export function numberFaults(t: Trace): number[] {
  const bad = (op: number) => {
    const stat = t.statOfArray.row(t.ops.id[op]!);
    return stat >= 0 && t.stats.nan[stat]! + t.stats.inf[stat]! > 0;
  };
  const out: number[] = [];
  for (let row = 0; row < t.stats.rows; row++) {
    if (t.stats.nan[row]! + t.stats.inf[row]! === 0) continue;
    const op = t.arrays.row(t.stats.array[row]!);
    if (op >= 0 && !inputsOf(t, op).some(bad)) out.push(op);
  }
  return out.sort((a, b) => a - b);
}

/** Time in which at least one stream runs a launch. */
export function busyTime(t: Trace): number {
  let [total, end] = [0, -Infinity];
  const next = t.tracks.map(() => 0);
  for (;;) {
    let best = -1;
    for (let k = 0; k < t.tracks.length; k++) {
      if (next[k]! < t.tracks[k]!.rows.length && (best < 0 || t.tracks[k]!.start[next[k]!]! < t.tracks[best]!.start[next[best]!]!)) best = k;
    }
    if (best < 0) return total;
    const [from, to] = [t.tracks[best]!.start[next[best]!]!, t.tracks[best]!.end[next[best]!]!];
    next[best]!++;
    if (to > end) {
      total += to - Math.max(from, end);
      end = to;
    }
  }
}

export function insights(t: Trace): Insight[] {
  const out: Insight[] = [];
  const first = (ops: number[]) => `${opLabel(t, ops[0]!)} (#${t.ops.id[ops[0]!]}, ${word(t.ops.call_site, ops[0]!)})`;
  const at = (view: ViewName, ops: number[]): Insight['go'] => ({ view, kind: 'op', row: ops[0]! });

  const failed = collect(t, (op) => t.ops.error.codes[op]! >= 0);
  if (failed.length > 0) out.push({ level: 'bad', text: `${f.plural(failed.length, 'operation')} failed; the first is ${first(failed)}: ${word(t.ops.error, failed[0]!)}`, go: at('dependencies', failed) });
  const faults = numberFaults(t);
  if (faults.length > 0) out.push({ level: 'bad', text: `NaN or Inf first appears in ${first(faults)}, although everything it reads is finite.${faults.length > 1 ? ` So it does in ${f.plural(faults.length - 1, 'other operation')}.` : ''}`, go: at('tensor', faults) });
  const fallbacks = collect(t, (op) => t.ops.fallback[op] === 1);
  if (fallbacks.length > 0) out.push({ level: 'warn', text: `${f.plural(fallbacks.length, 'operation')} of a GPU stream ran on the CPU; the first is ${first(fallbacks)}.`, go: at('timeline', fallbacks) });
  const unused = collect(t, (op) => isUnused(t, op));
  if (unused.length > 0) {
    const time = unused.reduce((sum, op) => sum + duration(t, t.launchOfOp[op]!), 0);
    out.push({ level: 'warn', text: `${f.plural(unused.length, 'result')} were given up without being read by another operation (${f.time(time)} of launches); the first is ${first(unused)}. Reading a result from the host is not recorded.`, go: at('dependencies', unused) });
  }
  const { peak, limit } = t.manifest.memory;
  if (limit > 0 && peak > limit * 0.9) out.push({ level: 'warn', text: `Memory reached ${f.bytes(peak)}, ${f.percent(peak, limit)} of the limit of ${f.bytes(limit)}.` });
  const span = t.end - t.begin;
  const busy = busyTime(t);
  if (t.launches.rows > 0 && busy < span * 0.5) out.push({ level: 'note', text: `Some stream was busy for ${f.percent(busy, span)} of the window; the rest is waiting or work outside of Pellucid.` });
  let tiny = 0;
  for (let i = 0; i < t.launches.rows; i++) if (duration(t, i) < 5_000) tiny++;
  if (tiny > 20 && tiny > t.launches.rows / 3) out.push({ level: 'note', text: `${f.count(tiny)} of ${f.plural(t.launches.rows, 'launch', 'launches')} took less than 5 µs; larger arrays or more fusion would spend less on starting them.` });
  const copies = collect(t, (op) => ['assembly', 'layout'].includes(KINDS[t.kindOfOp[op]!]!) && t.launchOfOp[op]! >= 0);
  const copied = copies.reduce((sum, op) => sum + t.ops.bytes[op]!, 0);
  const moved = t.launches.bytes.reduce((sum, b) => sum + b, 0);
  if (copied > moved * 0.15 && copies.length > 0) out.push({ level: 'note', text: `${f.percent(copied, moved)} of all bytes are moved by copies; the first is ${first(copies)}.`, go: at('dependencies', copies) });
  let host = 0;
  for (let i = 0; i < t.sync.rows; i++) if (t.sync.waiter[i] === -1) host += t.sync.duration_ns[i]!;
  if (host > span * 0.3) out.push({ level: 'note', text: `The host waited for streams for ${f.time(host)}, ${f.percent(host, span)} of the window.` });
  for (const native of t.manifest.native) out.push({ level: 'note', text: `${native.kind}: ${native.ok ? `written to ${native.path}` : native.message}` });
  return out;
}

function collect(t: Trace, wanted: (op: number) => boolean): number[] {
  const out: number[] = [];
  for (let op = 0; op < t.ops.rows; op++) if (wanted(op)) out.push(op);
  return out;
}
