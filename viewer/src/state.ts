// What is open, selected and looked for. Views read these signals and change nothing else.

import { batch, computed, signal } from '@preact/signals-core';
import type { Analysis, Diff, Marks } from './analysis/types';
import { opsOfLaunch, type Trace } from './trace/model';

export const VIEWS = ['summary', 'timeline', 'dependencies', 'kernels', 'memory', 'tensor', 'source', 'compare'] as const;
export type ViewName = (typeof VIEWS)[number];
export type Selection = { kind: 'op' | 'launch' | 'buffer' | 'kernel' | 'wait'; row: number };

export const trace = signal<Trace | null>(null);
/** The trace to compare with. */
export const other = signal<Trace | null>(null);
/** What pellucid-trace says about the trace; a large one is shown before it is known. */
export const analysis = signal<Analysis | null>(null);
export const marks = signal<Marks | null>(null);
/** The comparison of both traces. */
export const comparison = signal<Diff | null>(null);
/** Why an analysis or a comparison is missing. */
export const refusal = signal('');
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
  if (s.kind === 'wait') return none;
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
  /** Rows of `sync`, for `wait` and the names of streams. */
  waits: Int32Array;
}

/** Launches and operations that match the query, or null without one. */
export const found = computed<Found | null>(() => {
  const t = trace.value;
  const text = query.value.trim().toLowerCase();
  if (!t || !text) return null;
  const hits = (words: string[]) => words.map((word) => word.toLowerCase().includes(text));
  const [names, labels, sites, kernels] = [hits(t.ops.name.words), hits(t.ops.label.words), hits(t.ops.call_site.words), hits(t.launches.kernel.words)];
  const dtypes = hits(t.ops.dtypes.words);
  const shape = /^\[?[\d, ×x]+\]?$/.test(text) && /[,×x\[]/.test(text) ? text.replace(/[[\]\s]/g, '').split(/[,×x]/).filter(Boolean).map(Number) : null;
  const streams = new Set(t.tracks.filter((track) => `stream ${track.stream}` === text || track.label.toLowerCase().includes(text)).map((track) => track.stream));
  const number = /^#?\d+$/.test(text) ? Number(text.replace('#', '')) : -1;
  const byId = number < 0 ? -1 : t.arrays.row(number);
  const ops = new Uint8Array(t.ops.rows);
  const launches = new Uint8Array(t.launches.rows);
  for (let row = 0; row < t.ops.rows; row++) {
    if (names[t.ops.name.codes[row]!] || hasType(t, row, dtypes) || (shape && hasShape(t, row, shape)) || labels[t.ops.label.codes[row]!] || sites[t.ops.call_site.codes[row]!] || row === byId) {
      ops[row] = 1;
      if (t.launchOfOp[row]! >= 0) launches[t.launchOfOp[row]!] = 1;
    }
  }
  for (let row = 0; row < t.launches.rows; row++) if (kernels[t.launches.kernel.codes[row]!] || streams.has(t.launches.stream[row]!)) launches[row] = 1;
  const rowsOf = (flags: Uint8Array) => {
    const rows: number[] = [];
    for (let i = 0; i < flags.length; i++) if (flags[i]) rows.push(i);
    return Int32Array.from(rows);
  };
  const waits = Uint8Array.from(t.sync.waiter, (waiter, row) => (text.startsWith('wait') || streams.has(waiter) || streams.has(t.sync.waited_for[row]!) ? 1 : 0));
  return { launches, ops, rows: rowsOf(launches), opRows: rowsOf(ops), waits: rowsOf(waits) };
});

/** True if one of the operation's results has one of the types. */
function hasType(t: Trace, row: number, wanted: boolean[]): boolean {
  const { offsets, codes } = t.ops.dtypes;
  for (let i = offsets[row]!; i < offsets[row + 1]!; i++) if (wanted[codes[i]!]) return true;
  return false;
}

/** True if one of the operation's results has exactly this shape. */
function hasShape(t: Trace, row: number, wanted: number[]): boolean {
  const { offsets, inner, values } = t.ops.shapes;
  for (let i = offsets[row]!; i < offsets[row + 1]!; i++) {
    const from = inner[i]!;
    if (inner[i + 1]! - from === wanted.length && wanted.every((dim, axis) => values[from + axis] === dim)) return true;
  }
  return false;
}
