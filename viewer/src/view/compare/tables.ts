// The tables of a comparison. Totals, kernels, structure and numbers are the crate's; regions, which only the page
// compares, are added here.

import type { Brief, Change, Diff } from '../../analysis/types';
import * as f from '../../format';
import type { Trace } from '../../trace/model';
import { DataTable, type Column } from '../../ui/table';

const marked = ({ a, b, significant }: Change): string => (!significant ? '' : b > a ? 'bad' : 'good');
const moved = ({ a, b, significant }: Change): string => (significant || a === b ? f.change(a, b) : `${f.change(a, b)} (noise)`);

export function totals({ duration, time, launches, bytes, flops, peak }: Diff): DataTable {
  const rows: [string, Change, (value: number) => string][] = [
    ['Window', duration, f.time], ['In launches, all streams', time, f.time], ['Launches', launches, f.count], ['Bytes moved', bytes, f.bytes],
    ['Computed', flops, (v) => f.measure(v, 'FLOP')], ['Peak memory', peak, f.bytes],
  ];
  const at = (r: number) => rows[r]!;
  return new DataTable('Totals', [
    { title: '', text: (r) => at(r)[0], width: 2 },
    { title: 'First', text: (r) => at(r)[2](at(r)[1].a), right: true },
    { title: 'Second', text: (r) => at(r)[2](at(r)[1].b), right: true },
    { title: 'Change', text: (r) => moved(at(r)[1]), right: true, mark: (r) => marked(at(r)[1]), width: 1.4 },
  ]).set(rows.map((_, i) => i));
}

interface Both {
  name: string;
  device: string;
  count: Change;
  time: Change;
}

function differences(title: string, rows: Both[], unit: string): DataTable {
  const at = (r: number) => rows[r]!;
  const delta = (r: number) => Math.abs(at(r).time.b - at(r).time.a);
  const devices = rows.some((row) => row.device !== rows[0]!.device);
  const columns: Column[] = [
    { title: unit, text: (r) => at(r).name, width: 3 },
    { title: 'First', text: (r) => f.time(at(r).time.a), key: (r) => at(r).time.a, right: true },
    { title: 'Second', text: (r) => f.time(at(r).time.b), key: (r) => at(r).time.b, right: true },
    { title: 'Difference', text: (r) => `${at(r).time.b >= at(r).time.a ? '+' : '−'}${f.time(delta(r))}`, key: delta, right: true, mark: (r) => marked(at(r).time), width: 1.2 },
    { title: 'Change', text: (r) => (at(r).count.b === 0 ? 'gone' : moved(at(r).time)), key: (r) => at(r).time.b / at(r).time.a, right: true, mark: (r) => marked(at(r).time), width: 1.4 },
    { title: 'Count', text: (r) => (at(r).count.a === at(r).count.b ? f.count(at(r).count.a) : `${f.count(at(r).count.a)} → ${f.count(at(r).count.b)}`), key: (r) => at(r).count.b - at(r).count.a, right: true, mark: (r) => (at(r).count.a === at(r).count.b ? '' : 'warn'), width: 1.2 },
    ...(devices ? [{ title: 'Device', text: (r: number) => at(r).device, width: 1.6 }] : []),
  ];
  return new DataTable(title, columns, () => {}, { sort: 3 }).set(rows.map((_, i) => i), f.plural(rows.length, unit.toLowerCase()));
}

export const kernelDifferences = (diff: Diff): DataTable => differences('Time by kernel', diff.kernels, 'Kernel');

/** A tenth is noise, as for the times of the crate. */
const NOISE = 0.1;

export function regionDifferences(a: Trace, b: Trace): DataTable {
  const rows = new Map<string, Both>();
  for (const [t, side] of [[a, 'a'], [b, 'b']] as const) {
    const paths = new Map<number, string>();
    for (const region of t.regions) {
      const path = region.parent !== null && paths.has(region.parent) ? `${paths.get(region.parent)} › ${region.name}` : region.name;
      paths.set(region.id, path);
      const empty = (): Change => ({ a: 0, b: 0, ratio: 1, significant: false });
      const row = rows.get(path) ?? { name: path, device: '', count: empty(), time: empty() };
      rows.set(path, row);
      row.count[side]++;
      row.time[side] += region.end - region.start;
    }
  }
  for (const { time } of rows.values()) time.significant = Math.abs(time.a - time.b) > NOISE * Math.max(time.a, time.b);
  return differences('Time by region', [...rows.values()], 'Region');
}

const typeOf = ({ shapes, dtypes }: Brief): string => shapes.map((shape, i) => `${dtypes[i] ?? '?'}[${shape.join(', ')}]`).join(', ');

/** Operations that only one of the two has, or that do something else. */
export function structure({ aligned, added, removed, changed }: Diff): DataTable {
  const rows = [
    ...removed[1].map((op) => ({ what: 'first (removed)', mark: 'bad', op, then: '' })),
    ...added[1].map((op) => ({ what: 'second (added)', mark: 'good', op, then: '' })),
    ...changed[1].map(([from, to]) => ({ what: 'both (changed)', mark: 'warn', op: from, then: `${to.name} ${typeOf(to)}` })),
  ];
  const at = (r: number) => rows[r]!;
  const all = added[0] + removed[0] + changed[0];
  const listed = rows.length < all ? `, the first ${f.count(rows.length)} of them` : '';
  return new DataTable('Structure', [
    { title: 'Only in', text: (r) => at(r).what, mark: (r) => at(r).mark, width: 1.6 },
    { title: 'Operation', text: (r) => at(r).op.label ?? at(r).op.name, width: 2 },
    { title: 'Array', text: (r) => `#${at(r).op.id}`, key: (r) => at(r).op.id, right: true },
    { title: 'Type', text: (r) => typeOf(at(r).op), width: 2 },
    { title: 'Now', text: (r) => at(r).then, width: 2 },
    { title: 'Call site', tail: true, text: (r) => at(r).op.call_site, width: 2.4 },
  ]).set(rows.map((_, i) => i), all === 0 ? `all ${f.plural(aligned, 'operation')} correspond` : `${f.plural(all, 'difference')}${listed}, ${f.count(aligned)} correspond`);
}

/** Arrays of corresponding operations whose figures differ. */
export function numbers({ numbers: n }: Diff, pick: (array: number) => void): DataTable {
  const at = (r: number) => n.first[r]!;
  const pair = ([from, to]: [number, number]) => (from === to ? f.count(from) : `${f.count(from)} → ${f.count(to)}`);
  const caption = n.compared === 0 ? 'no statistics in both traces'
    : `${f.count(n.compared)} compared: ${f.count(n.identical)} the same to the last bit, ${f.count(n.close)} close, ${f.count(n.different)} different${n.different > 0 ? '; the first is the cause to look for' : ''}`;
  return new DataTable('Numbers', [
    { title: 'Order', text: (r) => String(r + 1), key: (r) => r, right: true },
    { title: 'Array', text: (r) => `#${at(r).a.id}`, key: (r) => at(r).a.id, right: true },
    { title: 'Made by', text: (r) => at(r).a.label ?? at(r).a.name, width: 1.6 },
    { title: 'Off by', hint: 'Largest relative difference of mean, minimum and maximum', text: (r) => (at(r).difference === null ? '∞' : at(r).difference!.toExponential(2)), key: (r) => at(r).difference ?? Infinity, right: true, width: 1.2 },
    { title: 'NaN', text: (r) => pair(at(r).nan), right: true, mark: (r) => (at(r).nan[0] === at(r).nan[1] ? '' : 'bad') },
    { title: 'Inf', text: (r) => pair(at(r).inf), right: true, mark: (r) => (at(r).inf[0] === at(r).inf[1] ? '' : 'bad') },
    { title: 'Type', text: (r) => typeOf(at(r).a), width: 2 },
    { title: 'Call site', tail: true, text: (r) => at(r).a.call_site, width: 2 },
  ], (r) => pick(at(r).a.id), { sort: 0, descending: false }).set(n.first.map((_, i) => i), caption);
}
