// What is open, selected and looked for. Views read these signals and change nothing else.

import { batch, computed, signal } from '@preact/signals-core';
import { opsOfLaunch, type Trace } from './trace/model';

export const VIEWS = ['summary', 'timeline', 'dependencies', 'kernels', 'memory', 'tensor', 'compare'] as const;
export type ViewName = (typeof VIEWS)[number];
export type Selection = { kind: 'op' | 'launch' | 'buffer' | 'kernel'; row: number };

export const trace = signal<Trace | null>(null);
/** The trace to compare with. */
export const other = signal<Trace | null>(null);
export const view = signal<ViewName>('summary');
export const selection = signal<Selection | null>(null);
export const query = signal('');
/** Text while something is being read, null otherwise. */
export const busy = signal<string | null>(null);
export const failure = signal<{ message: string; hint: string; defects: string[]; file: string; retry: (() => void) | null } | null>(null);
/** How long it took until the trace was ready, for the summary and the benchmark. */
export const loadTime = signal(0);

export interface Focus {
  op: number;
  launch: number;
  kernel: number;
  life: number;
}

/** The selection seen from each view: the launch of an operation, the kernel of a launch, and so on. */
export const focus = computed<Focus>(() => {
  const none = { op: -1, launch: -1, kernel: -1, life: -1 };
  const [t, s] = [trace.value, selection.value];
  if (!t || !s) return none;
  if (s.kind === 'kernel') return { ...none, kernel: s.row };
  if (s.kind === 'launch') {
    const op = opsOfLaunch(t, s.row).at(-1) ?? -1;
    return { op, launch: s.row, kernel: t.kernelOfLaunch[s.row]!, life: op < 0 ? -1 : t.lifeOfOp[op]! };
  }
  const op = s.kind === 'op' ? s.row : t.lives[s.row]!.op;
  const launch = op < 0 ? -1 : t.launchOfOp[op]!;
  const life = s.kind === 'buffer' ? s.row : t.lifeOfOp[op]!;
  return { op, launch, kernel: launch < 0 ? -1 : t.kernelOfLaunch[launch]!, life };
});

export function select(kind: Selection['kind'], row: number): void {
  selection.value = row < 0 ? null : { kind, row };
}

export function show(name: ViewName, kind?: Selection['kind'], row = -1): void {
  batch(() => {
    if (kind) select(kind, row);
    view.value = name;
  });
}

export interface Found {
  launches: Uint8Array;
  rows: Int32Array;
  ops: Uint8Array;
  opRows: Int32Array;
}

/** Launches and operations that match the query, or null without one. */
export const found = computed<Found | null>(() => {
  const t = trace.value;
  const text = query.value.trim().toLowerCase();
  if (!t || !text) return null;
  const hits = (words: string[]) => words.map((word) => word.toLowerCase().includes(text));
  const [names, labels, sites, kernels] = [hits(t.ops.name.words), hits(t.ops.label.words), hits(t.ops.call_site.words), hits(t.launches.kernel.words)];
  const number = /^#?\d+$/.test(text) ? Number(text.replace('#', '')) : -1;
  const byId = number < 0 ? -1 : t.arrays.row(number);
  const ops = new Uint8Array(t.ops.rows);
  const launches = new Uint8Array(t.launches.rows);
  for (let row = 0; row < t.ops.rows; row++) {
    if (names[t.ops.name.codes[row]!] || labels[t.ops.label.codes[row]!] || sites[t.ops.call_site.codes[row]!] || row === byId) {
      ops[row] = 1;
      if (t.launchOfOp[row]! >= 0) launches[t.launchOfOp[row]!] = 1;
    }
  }
  for (let row = 0; row < t.launches.rows; row++) if (kernels[t.launches.kernel.codes[row]!]) launches[row] = 1;
  const rowsOf = (flags: Uint8Array) => {
    const rows: number[] = [];
    for (let i = 0; i < flags.length; i++) if (flags[i]) rows.push(i);
    return Int32Array.from(rows);
  };
  return { launches, ops, rows: rowsOf(launches), opRows: rowsOf(ops) };
});
