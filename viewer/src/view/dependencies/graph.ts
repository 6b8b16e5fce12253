// What the graph shows: regions, launches or single operations, as nodes and edges.

import { arrayType, inputsOf, isInput, isResult, isUnused, opLabel, readersOf, type Trace } from '../../trace/model';
import { word } from '../../trace/columns';
import * as f from '../../format';
import type { Marks } from '../../analysis/types';
import { marks } from '../../state';
import type { Graph } from './layout';

export type Level = 'regions' | 'launches' | 'operations';
export const MAX_NODES = 150_000;

export const FLAG = { input: 1, view: 2, unused: 4, fallback: 8, result: 16, group: 32, error: 64 } as const;

export interface Nodes extends Graph {
  level: Level;
  /** Operation, launch or region row of each node; -1 - stream for operations outside of all regions. */
  row: Int32Array;
  kind: Uint8Array;
  flags: Uint8Array;
  /** What each node has to do with NaN and infinity: 0 nothing, 1 passes one on, 2 made one or came with one. */
  odd: Uint8Array;
  /** Operation whose first result flows along each edge. */
  array: Int32Array;
  /** Number of arrays on each edge. */
  weight: Int32Array;
  laneNames: string[];
  nodeOfOp: Int32Array;
  label(node: number): string;
  detail(node: number): string;
  /** Operations left out because there are too many. */
  omitted: number;
}

/** Only what an operation was made from, or only what was made from it. */
export interface Only {
  op: number;
  way: 'ancestors' | 'descendants';
}

/** Flags of the operations that are reached from one, itself among them. */
function reached(t: Trace, { op, way }: Only): Uint8Array {
  const flags = new Uint8Array(t.ops.rows);
  const queue = [op];
  flags[op] = 1;
  while (queue.length > 0) {
    const at = queue.pop()!;
    for (const next of way === 'ancestors' ? inputsOf(t, at) : readersOf(t, at)) {
      if (flags[next]) continue;
      flags[next] = 1;
      queue.push(next);
    }
  }
  return flags;
}

/** The operations to show: those in a region (all for -1), or around the selection when there are too many. */
function chosen(t: Trace, scope: number, around: number, only: Only | null): { ops: number[]; omitted: number } {
  const wanted = only && reached(t, only);
  const inside = new Uint8Array(t.regions.length);
  for (const region of t.regions) {
    inside[region.row] = region.row === scope || (region.up >= 0 && inside[region.up]) ? 1 : 0;
  }
  const ops: number[] = [];
  for (let op = 0; op < t.ops.rows; op++) if ((!wanted || wanted[op]) && (scope < 0 || inside[t.regionOfOp[op]!])) ops.push(op);
  if (ops.length <= MAX_NODES) return { ops, omitted: 0 };
  const keep = Math.floor(MAX_NODES / 3);
  const middle = Math.max(0, ops.findIndex((op) => op >= around));
  const from = Math.max(0, Math.min(ops.length - keep, middle - keep / 2));
  return { ops: ops.slice(from, from + keep), omitted: ops.length - keep };
}

/** The region directly below the scope that an operation belongs to, or -1. */
function regionBelow(t: Trace, scope: number): Int32Array {
  const below = new Int32Array(t.regions.length);
  for (const { row, up } of t.regions) below[row] = up === scope ? row : up < 0 ? -1 : below[up]!;
  return below;
}

export function buildGraph(t: Trace, level: Level, scope: number, around: number, only: Only | null): Nodes {
  if (level === 'operations') return operations(t, ...Object.values(chosen(t, scope, around, only)) as [number[], number]);
  const { ops, omitted } = level === 'regions' ? { ops: Array.from({ length: t.ops.rows }, (_, i) => i), omitted: 0 } : chosen(t, scope, around, only);
  return level === 'launches' ? launches(t, ops, omitted) : regions(t, ops, scope);
}

const odds = new WeakMap<Marks, Uint8Array>();

/** For each operation, what it has to do with NaN and infinity. */
function oddOps(t: Trace): Uint8Array {
  const found = marks.peek();
  let odd = found && odds.get(found);
  if (odd) return odd;
  odd = new Uint8Array(t.ops.rows);
  if (!found) return odd;
  for (const op of found.passed_on) odd[op] = 1;
  for (const op of [...found.made, ...found.among, ...found.came]) odd[op] = 2;
  odds.set(found, odd);
  return odd;
}

const lanesOf = (t: Trace): { names: string[]; lane: Map<number, number> } => ({
  names: t.tracks.map((track) => `${track.stream} ${track.label} · ${track.device}`),
  lane: new Map(t.tracks.map((track, i) => [track.stream, i])),
});

function opFlags(t: Trace, op: number): number {
  return (
    (isInput(t, op) ? FLAG.input : t.launchOfOp[op]! < 0 ? FLAG.view : 0) | (isUnused(t, op) ? FLAG.unused : 0) | (isResult(t, op) ? FLAG.result : 0) |
    (t.ops.fallback[op] ? FLAG.fallback : 0) | (t.ops.error.codes[op]! >= 0 ? FLAG.error : 0)
  );
}

function operations(t: Trace, ops: number[], omitted: number): Nodes {
  const { names, lane } = lanesOf(t);
  const nodeOfOp = new Int32Array(t.ops.rows).fill(-1);
  ops.forEach((op, node) => (nodeOfOp[op] = node));
  const [from, to, array]: number[][] = [[], [], []];
  ops.forEach((op, node) => {
    for (let i = t.ops.inputs.offsets[op]!; i < t.ops.inputs.offsets[op + 1]!; i++) {
      const source = t.inputRows[i]!;
      if (source < 0 || nodeOfOp[source]! < 0) continue;
      from!.push(nodeOfOp[source]!);
      to!.push(node);
      array!.push(source);
    }
  });
  return {
    level: 'operations', count: ops.length, lanes: Math.max(1, names.length), laneNames: names, nodeOfOp, omitted,
    lane: Int32Array.from(ops, (op) => lane.get(t.ops.stream[op]!) ?? 0),
    row: Int32Array.from(ops), odd: Uint8Array.from(ops, (op) => oddOps(t)[op]!), kind: Uint8Array.from(ops, (op) => t.kindOfOp[op]!), flags: Uint8Array.from(ops, (op) => opFlags(t, op)),
    from: Int32Array.from(from!), to: Int32Array.from(to!), array: Int32Array.from(array!), weight: new Int32Array(from!.length).fill(1),
    label: (node) => opLabel(t, ops[node]!),
    detail: (node) => arrayType(t, ops[node]!),
  };
}

/** Joins operations into nodes; several arrays between the same two nodes become one edge. */
function grouped(t: Trace, ops: number[], keyOf: (op: number) => number, fill: (keys: number[], members: number[][]) => Omit<Nodes, keyof Graph | 'array' | 'odd' | 'weight' | 'nodeOfOp' | 'omitted' | 'laneNames'>, omitted: number, through: (op: number) => boolean): Nodes {
  const { names, lane } = lanesOf(t);
  const nodeOfKey = new Map<number, number>();
  const nodeOfOp = new Int32Array(t.ops.rows).fill(-1);
  const [keys, members]: [number[], number[][]] = [[], []];
  for (const op of ops) {
    // A view belongs to whatever made its elements.
    if (through(op)) {
      const source = t.inputRows[t.ops.inputs.offsets[op]!] ?? -1;
      if (source >= 0 && nodeOfOp[source]! >= 0) {
        nodeOfOp[op] = nodeOfOp[source]!;
        continue;
      }
    }
    const key = keyOf(op);
    let node = nodeOfKey.get(key);
    if (node === undefined) {
      nodeOfKey.set(key, (node = keys.push(key) - 1));
      members.push([]);
    }
    members[node]!.push(op);
    nodeOfOp[op] = node;
  }
  const edges = new Map<number, number>();
  const [from, to, array, weight]: number[][] = [[], [], [], []];
  for (const op of ops) {
    const node = nodeOfOp[op]!;
    for (let i = t.ops.inputs.offsets[op]!; i < t.ops.inputs.offsets[op + 1]!; i++) {
      const source = t.inputRows[i]!;
      const other = source < 0 ? -1 : nodeOfOp[source]!;
      if (other < 0 || other === node) continue;
      const key = other * keys.length + node;
      const known = edges.get(key);
      if (known !== undefined) weight![known]!++;
      else {
        edges.set(key, from!.push(other) - 1);
        to!.push(node);
        array!.push(source);
        weight!.push(1);
      }
    }
  }
  return {
    ...fill(keys, members), odd: Uint8Array.from(members, (list) => list.reduce((most, op) => Math.max(most, oddOps(t)[op]!), 0)), count: keys.length, lanes: Math.max(1, names.length), laneNames: names, nodeOfOp, omitted,
    lane: Int32Array.from(members, (list) => lane.get(t.ops.stream[list.at(-1)!]!) ?? 0),
    from: Int32Array.from(from!), to: Int32Array.from(to!), array: Int32Array.from(array!), weight: Int32Array.from(weight!),
  };
}

function launches(t: Trace, ops: number[], omitted: number): Nodes {
  const isView = (op: number) => t.launchOfOp[op]! < 0 && !isInput(t, op);
  return grouped(t, ops, (op) => (t.launchOfOp[op]! >= 0 ? t.launchOfOp[op]! : -1 - op), (keys, members) => ({
    level: 'launches',
    row: Int32Array.from(keys),
    kind: Uint8Array.from(keys, (key) => (key >= 0 ? t.kindOfLaunch[key]! : t.kindOfOp[-1 - key]!)),
    flags: Uint8Array.from(members, (list) => list.reduce((all, op) => all | opFlags(t, op), 0) & ~FLAG.view),
    label: (node) => (keys[node]! >= 0 ? word(t.launches.kernel, keys[node]!) : opLabel(t, -1 - keys[node]!)),
    detail: (node) => (keys[node]! >= 0 ? `${f.time(t.launches.end_ns[keys[node]!]! - t.launches.start_ns[keys[node]!]!)} · ${f.plural(members[node]!.length, 'op')}` : arrayType(t, -1 - keys[node]!)),
  }), omitted, isView);
}

/** One node for each region below the scope, and one for what lies directly in it on each stream. */
function regions(t: Trace, all: number[], scope: number): Nodes {
  const below = regionBelow(t, scope);
  const streams = t.tracks.length + 1;
  const belongs = (op: number) => t.regionOfOp[op]! >= 0 && below[t.regionOfOp[op]!]! >= 0;
  const ops = scope < 0 ? all : all.filter((op) => t.regionOfOp[op] === scope || belongs(op));
  return grouped(t, ops, (op) => (belongs(op) ? below[t.regionOfOp[op]!]! : -1 - (isInput(t, op) ? streams : t.ops.stream[op]!)), (keys, members) => {
    const time = members.map((list) => {
      const seen = new Set(list.map((op) => t.launchOfOp[op]!).filter((launch) => launch >= 0));
      return [...seen].reduce((sum, launch) => sum + t.launches.end_ns[launch]! - t.launches.start_ns[launch]!, 0);
    });
    return {
      level: 'regions',
      row: Int32Array.from(keys),
      kind: Uint8Array.from(keys, (key) => (key === -1 - streams ? 1 : 0)),
      flags: Uint8Array.from(members, (list, node) => FLAG.group | (keys[node] === -1 - streams ? FLAG.input : 0) | (list.some((op) => t.ops.fallback[op]) ? FLAG.fallback : 0) | (list.some((op) => t.ops.error.codes[op]! >= 0) ? FLAG.error : 0)),
      label: (node) => (keys[node]! >= 0 ? t.regions[keys[node]!]!.name : keys[node] === -1 - streams ? 'inputs' : scope < 0 ? 'outside of regions' : 'directly in it'),
      detail: (node) => `${f.plural(members[node]!.length, 'op')} · ${f.time(time[node]!)}`,
    };
  }, 0, () => false);
}
