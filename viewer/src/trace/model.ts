// A trace in memory: the tables as they came, and the indexes that link them. Rows are numbers everywhere;
// -1 stands for "none".

import type { Nested, Table } from './columns';
import { list, nested, word, words } from './columns';
import type { IdIndex } from './ids';
import type { Manifest, Region } from './manifest';
import type { Member } from './zip';

export interface Track {
  stream: number;
  label: string;
  device: string;
  /** Launches by start time. */
  rows: Int32Array;
  start: Float64Array;
  end: Float64Array;
  /** Sum of the durations before each launch. */
  busy: Float64Array;
}
export interface Kernel {
  name: string;
  /** Members with the sources: one text for each way the kernel was specialised. */
  sources: string[];
  device: string;
  kind: number;
  rows: Int32Array;
  time: number;
  bytes: number;
  flops: number;
}
/** One buffer from when it was handed out until it was given up. */
export interface Life {
  buffer: number;
  op: number;
  bytes: number;
  start: number;
  end: number;
  /** It was there before the window, or was still there after it. */
  before: boolean;
  after: boolean;
  device: string;
  event: string;
}
export interface RegionNode extends Region {
  row: number;
  /** Row of the parent, or -1. */
  up: number;
  depth: number;
  children: number[];
}

export interface Trace {
  name: string;
  file: Blob;
  members: Map<string, Member>;
  manifest: Manifest;
  ops: Table<'ops'>;
  launches: Table<'launches'>;
  /** What GPUs were given, those of one launch after each other; empty in files of version 1. */
  dispatches: Table<'dispatches'>;
  /** For each launch the rows of `dispatches` that are its own: from, until. */
  dispatchesOfLaunch: Map<number, [number, number]>;
  memory: Table<'memory'>;
  sync: Table<'sync'>;
  stats: Table<'stats'>;
  /** Operation of each array id. */
  arrays: IdIndex;
  launchIds: IdIndex;
  statOfArray: IdIndex;
  /** Operation rows, one for each entry of `ops.inputs`. */
  inputRows: Int32Array;
  /** Operations that read a row's results: `readers.values` from `offsets[row]`. */
  readers: { offsets: Uint32Array; values: Int32Array };
  launchOfOp: Int32Array;
  /** Operation rows, one for each entry of `launches.ops`. */
  launchOpRows: Int32Array;
  kindOfOp: Uint8Array;
  kindOfLaunch: Uint8Array;
  kernelOfLaunch: Int32Array;
  kernels: Kernel[];
  tracks: Track[];
  regions: RegionNode[];
  regionOfOp: Int32Array;
  lives: Life[];
  /** Row in `lives` of each operation's buffer. */
  lifeOfOp: Int32Array;
  tensors: Set<number>;
  /** From the first to the last moment of anything. */
  begin: number;
  end: number;
  /** Contradictions in the file that the reader was told to overlook. */
  defects: string[];
  /** Only the launches have been read so far. */
  incomplete: boolean;
}

export const opLabel = (t: Trace, row: number): string => word(t.ops.label, row) || word(t.ops.name, row);
export const isInput = (t: Trace, row: number): boolean => word(t.ops.name, row) === 'input';
export const shapesOf = (t: Trace, row: number): number[][] => nested(t.ops.shapes as Nested, row);
export const dtypesOf = (t: Trace, row: number): string[] => words(t.ops.dtypes, row);
export const outputsOf = (t: Trace, row: number): number[] => [...list(t.ops.outputs, row)];

/** Rows of the operations that this one reads; unknown ones are left out. */
export function inputsOf(t: Trace, row: number): number[] {
  const out: number[] = [];
  for (let i = t.ops.inputs.offsets[row]!; i < t.ops.inputs.offsets[row + 1]!; i++) if (t.inputRows[i]! >= 0) out.push(t.inputRows[i]!);
  return out;
}

export function readersOf(t: Trace, row: number): number[] {
  return [...t.readers.values.subarray(t.readers.offsets[row]!, t.readers.offsets[row + 1]!)];
}

export function opsOfLaunch(t: Trace, row: number): number[] {
  const { offsets } = t.launches.ops;
  return [...t.launchOpRows.subarray(offsets[row]!, offsets[row + 1]!)].filter((op) => op >= 0);
}

export const duration = (t: Trace, launch: number): number => t.launches.end_ns[launch]! - t.launches.start_ns[launch]!;

/** True for results that ran and that no operation in the window read. */
export function isUnused(t: Trace, row: number): boolean {
  if (t.launchOfOp[row]! < 0 || t.readers.offsets[row + 1]! > t.readers.offsets[row]!) return false;
  const life = t.lifeOfOp[row]!;
  return life >= 0 && !t.lives[life]!.after;
}

/** True for results that are still held when the window ends. */
export function isResult(t: Trace, row: number): boolean {
  const life = t.lifeOfOp[row]!;
  return t.launchOfOp[row]! >= 0 && t.readers.offsets[row + 1] === t.readers.offsets[row] && life >= 0 && t.lives[life]!.after;
}

/** `float32[2, 3]` */
export function arrayType(t: Trace, row: number): string {
  const [shapes, dtypes] = [shapesOf(t, row), dtypesOf(t, row)];
  return shapes.map((shape, i) => `${dtypes[i] ?? '?'}[${shape.join(', ')}]`).join(', ');
}
