// What pellucid-trace computes, as it comes out of its JSON. Names are those of the crate, so that a figure on screen
// can be looked up in `pellucid summary --json`.

export interface Cost {
  name: string;
  device: string;
  count: number;
  time_ns: number;
  share: number;
  bytes: number;
  flops: number;
  gb_per_s: number;
  gflop_per_s: number;
  roof_share: number | null;
  source: string | null;
}
/** A line of the user's program. */
export interface Line {
  call_site: string;
  ops: number;
  time_ns: number;
  share: number;
  bytes: number;
  flops: number;
  allocated: number;
  at_peak: number;
}
export interface Element {
  index: number[];
  value: string;
  read: string[];
}
export interface Maker {
  op: number;
  name: string;
  call_site: string;
  label: string | null;
  nan: number;
  inf: number;
  among: number[];
  element: Element | null;
}
export interface Given {
  array: number;
  what: string;
  nan: number;
  inf: number;
}
export interface Finite {
  checked: number;
  made: number;
  makers: Maker[];
  came: number;
  given: Given[];
  passed_on: number;
  reached: number;
}
export interface StreamUse {
  stream: number;
  label: string;
  device: string;
  launches: number;
  busy_ns: number;
  busy_share: number;
  gaps: number;
  gap_ns: number;
}
export interface Held {
  buffer: number;
  bytes: number;
}
export interface MemoryUse {
  peak: number;
  peak_ns: number;
  device: string;
  held: Held[];
  held_count: number;
  held_before: number;
  allocations: number;
  reuses: number;
}
export type Cause = 'first_launch' | 'first_touch' | 'shared' | 'outside';
export interface Insight {
  kind: string;
  count: number;
  gain_ns: number;
  text: string;
  advice: string;
  examples: number[];
}
export interface Analysis {
  totals: { duration_ns: number; launch_ns: number; busy_ns: number; bytes: number; flops: number; counts: Record<string, number>; views: number; errors: number };
  finite: Finite;
  kernels: Cost[];
  ops: Cost[];
  lines: Line[];
  streams: StreamUse[];
  memory: MemoryUse;
  waits: { host: number; host_ns: number; streams: number; streams_ns: number };
  critical_path: { time_ns: number; launches: number; total_ns: number; parallelism: number; costliest: [number, string, number][] };
  outliers: { count: number; lost_ns: number; causes: Partial<Record<Cause, number>>; worst: { launch: number; kernel: string; time_ns: number; median_ns: number; cause: Cause }[] };
  insights: Insight[];
}
/** Rows of the tables that pictures mark. */
export interface Marks {
  made: number[];
  among: number[];
  came: number[];
  passed_on: number[];
  chain: number[];
  waits: [row: number, kind: string, gain: number][];
  outliers: [row: number, cause: Cause][];
}

export interface Change {
  a: number;
  b: number;
  ratio: number | null;
  significant: boolean;
}
export interface Brief {
  id: number;
  name: string;
  call_site: string;
  label: string | null;
  shapes: number[][];
  dtypes: string[];
}
export interface NumericChange {
  a: Brief;
  b: number;
  difference: number | null;
  nan: [number, number];
  inf: [number, number];
}
export interface Diff {
  aligned: number;
  /** Row of `ops` in the first, row in the second, how many from there on. */
  runs: [number, number, number][];
  added: [number, Brief[]];
  removed: [number, Brief[]];
  changed: [number, [Brief, Brief][]];
  launches: Change;
  bytes: Change;
  flops: Change;
  peak: Change;
  time: Change;
  duration: Change;
  kernels: { name: string; device: string; count: Change; time: Change }[];
  numbers: { compared: number; identical: number; close: number; different: number; first: NumericChange[] };
}
