// The tables of a comparison: totals, kernels, regions, structure and numbers.

import { kindVariable } from '../../colour';
import * as f from '../../format';
import { word } from '../../trace/columns';
import { arrayType, opLabel, type Trace } from '../../trace/model';
import { DataTable, type Column } from '../../ui/table';
import { busyTime } from '../summary/insights';

const marked = (from: number, to: number): string => (to > from * 1.02 ? 'bad' : to < from * 0.98 ? 'good' : '');

interface Pair {
  name: string;
  a: number;
  b: number;
  show(value: number): string;
}

export function totals(a: Trace, b: Trace): DataTable {
  const sum = (values: ArrayLike<number>) => Array.prototype.reduce.call(values, (s: unknown, v: unknown) => (s as number) + (v as number), 0) as number;
  const pair = (name: string, get: (t: Trace) => number, show: (v: number) => string): Pair => ({ name, a: get(a), b: get(b), show });
  const rows: Pair[] = [
    pair('Window', (t) => t.end - t.begin, f.time), pair('In launches, all streams', (t) => sum(t.kernels.map((k) => k.time)), f.time),
    pair('Some stream busy', busyTime, f.time), pair('Host waits', (t) => t.sync.duration_ns.reduce((s, d, i) => s + (t.sync.waiter[i] === -1 ? d : 0), 0), f.time),
    pair('Launches', (t) => t.launches.rows, f.count), pair('Operations and inputs', (t) => t.ops.rows, f.count), pair('Kernels', (t) => t.kernels.length, f.count),
    pair('Bytes moved', (t) => sum(t.launches.bytes), f.bytes), pair('Computed', (t) => sum(t.launches.flops), (v) => `${f.measure(v, 'FLOP')}`),
    pair('Peak memory', (t) => t.manifest.memory.peak, f.bytes), pair('Active at the end', (t) => t.manifest.memory.activeAtEnd, f.bytes),
    pair('Elements NaN or Inf', (t) => sum(t.stats.nan) + sum(t.stats.inf), f.count),
  ];
  const at = (r: number) => rows[r]!;
  return new DataTable('Totals', [
    { title: '', text: (r) => at(r).name, width: 2 },
    { title: 'First', text: (r) => at(r).show(at(r).a), right: true },
    { title: 'Second', text: (r) => at(r).show(at(r).b), right: true },
    { title: 'Change', text: (r) => f.change(at(r).a, at(r).b), right: true, mark: (r) => marked(at(r).a, at(r).b) },
  ]).set(rows.map((_, i) => i));
}

interface Both {
  name: string;
  kind: number;
  countA: number;
  countB: number;
  timeA: number;
  timeB: number;
}

function differences(title: string, rows: Both[], unit: string): DataTable {
  const at = (r: number) => rows[r]!;
  const delta = (r: number) => Math.abs(at(r).timeB - at(r).timeA);
  const columns: Column[] = [
    { title: unit, text: (r) => at(r).name, ...(unit === 'Kernel' ? { swatch: (r: number) => kindVariable(at(r).kind) } : {}), width: 3 },
    { title: 'First', text: (r) => f.time(at(r).timeA), key: (r) => at(r).timeA, right: true },
    { title: 'Second', text: (r) => f.time(at(r).timeB), key: (r) => at(r).timeB, right: true },
    { title: 'Difference', text: (r) => `${at(r).timeB >= at(r).timeA ? '+' : '−'}${f.time(delta(r))}`, key: delta, right: true, mark: (r) => marked(at(r).timeA, at(r).timeB), width: 1.2 },
    { title: 'Change', text: (r) => (at(r).countB === 0 ? 'gone' : f.change(at(r).timeA, at(r).timeB)), key: (r) => at(r).timeB / at(r).timeA, right: true, mark: (r) => marked(at(r).timeA, at(r).timeB) },
    { title: 'Count', text: (r) => (at(r).countA === at(r).countB ? f.count(at(r).countA) : `${f.count(at(r).countA)} → ${f.count(at(r).countB)}`), key: (r) => at(r).countB - at(r).countA, right: true, mark: (r) => (at(r).countA === at(r).countB ? '' : 'warn'), width: 1.2 },
  ];
  return new DataTable(title, columns, () => {}, { sort: 3 }).set(rows.map((_, i) => i), f.plural(rows.length, unit.toLowerCase()));
}

export function kernelDifferences(a: Trace, b: Trace): DataTable {
  const rows = new Map<string, Both>();
  for (const [t, second] of [[a, false], [b, true]] as const) {
    for (const k of t.kernels) {
      const row = rows.get(k.name) ?? { name: k.name, kind: k.kind, countA: 0, countB: 0, timeA: 0, timeB: 0 };
      rows.set(k.name, row);
      row[second ? 'countB' : 'countA'] += k.rows.length;
      row[second ? 'timeB' : 'timeA'] += k.time;
    }
  }
  return differences('Time by kernel', [...rows.values()], 'Kernel');
}

export function regionDifferences(a: Trace, b: Trace): DataTable {
  const rows = new Map<string, Both>();
  for (const [t, second] of [[a, false], [b, true]] as const) {
    const paths = new Map<number, string>();
    for (const region of t.regions) {
      const path = region.parent !== null && paths.has(region.parent) ? `${paths.get(region.parent)} › ${region.name}` : region.name;
      paths.set(region.id, path);
      const row = rows.get(path) ?? { name: path, kind: 0, countA: 0, countB: 0, timeA: 0, timeB: 0 };
      rows.set(path, row);
      row[second ? 'countB' : 'countA']++;
      row[second ? 'timeB' : 'timeA'] += region.end - region.start;
    }
  }
  return differences('Time by region', [...rows.values()], 'Region');
}

/** Operations that only one of the two has. */
export function structure(a: Trace, b: Trace, match: Int32Array): DataTable {
  const used = new Uint8Array(b.ops.rows);
  for (const j of match) if (j >= 0) used[j] = 1;
  const rows: { t: Trace; op: number; second: boolean; at: number }[] = [];
  match.forEach((j, i) => j < 0 && rows.push({ t: a, op: i, second: false, at: i }));
  used.forEach((u, j) => u || rows.push({ t: b, op: j, second: true, at: j }));
  rows.sort((p, q) => p.at - q.at || Number(p.second) - Number(q.second));
  const at = (r: number) => rows[r]!;
  const same = match.filter((j) => j >= 0).length;
  return new DataTable('Structure', [
    { title: 'Only in', text: (r) => (at(r).second ? 'second (added)' : 'first (removed)'), mark: (r) => (at(r).second ? 'good' : 'bad'), width: 1.6 },
    { title: 'Operation', text: (r) => opLabel(at(r).t, at(r).op), swatch: (r) => kindVariable(at(r).t.kindOfOp[at(r).op]!), width: 2 },
    { title: 'Array', text: (r) => `#${at(r).t.ops.id[at(r).op]}`, key: (r) => at(r).t.ops.id[at(r).op]!, right: true },
    { title: 'Type', text: (r) => arrayType(at(r).t, at(r).op), width: 2 },
    { title: 'Call site', text: (r) => word(at(r).t.ops.call_site, at(r).op), width: 2.4 },
  ]).set(rows.map((_, i) => i), rows.length === 0 ? `all ${f.plural(same, 'operation')} correspond` : `${f.plural(rows.length, 'difference')}, ${f.count(same)} correspond`);
}

/** Arrays of corresponding operations whose elements differ. */
export function numbers(a: Trace, b: Trace, match: Int32Array, pick: (op: number) => void): DataTable {
  const rows: { op: number; sa: number; sb: number }[] = [];
  let compared = 0;
  match.forEach((j, op) => {
    if (j < 0) return;
    const [sa, sb] = [a.statOfArray.row(a.ops.id[op]!), b.statOfArray.row(b.ops.id[j]!)];
    if (sa < 0 || sb < 0) return;
    compared++;
    if (word(a.stats.hash, sa) !== word(b.stats.hash, sb)) rows.push({ op, sa, sb });
  });
  const at = (r: number) => rows[r]!;
  const both = (get: (t: Trace) => Float64Array, title: string): Column => ({
    title, width: 2, right: true,
    text: (r) => `${f.real(get(a)[at(r).sa]!)} → ${f.real(get(b)[at(r).sb]!)}`,
    key: (r) => Math.abs(get(b)[at(r).sb]! - get(a)[at(r).sa]!) || 0,
  });
  const caption = compared === 0 ? 'no statistics in both traces' : rows.length === 0 ? `all ${f.count(compared)} compared arrays are the same, bit by bit` : `${f.count(rows.length)} of ${f.count(compared)} arrays differ; the first is the cause to look for`;
  return new DataTable('Numbers', [
    { title: 'Order', text: (r) => String(r + 1), key: (r) => r, right: true },
    { title: 'Array', text: (r) => `#${a.ops.id[at(r).op]}`, key: (r) => a.ops.id[at(r).op]!, right: true },
    { title: 'Made by', text: (r) => opLabel(a, at(r).op), swatch: (r) => kindVariable(a.kindOfOp[at(r).op]!), width: 1.6 },
    both((t) => t.stats.mean, 'Mean'), both((t) => t.stats.min, 'Min'), both((t) => t.stats.max, 'Max'),
    { ...both((t) => t.stats.nan, 'NaN'), width: 1, mark: (r) => (a.stats.nan[at(r).sa] === b.stats.nan[at(r).sb] ? '' : 'bad') },
    { title: 'Call site', text: (r) => word(a.ops.call_site, at(r).op), width: 2 },
  ], (r) => pick(at(r).op), { sort: 0, descending: false }).set(rows.map((_, i) => i), caption);
}
