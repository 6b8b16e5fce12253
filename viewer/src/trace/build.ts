// Links the tables of a trace and looks for contradictions between them.

import type { Table, TableName, Text } from './columns';
import { word } from './columns';
import { IdIndex } from './ids';
import { kindOf, kindOfFamily, kindOfKernel } from './kind';
import { buildLives } from './lives';
import type { Manifest } from './manifest';
import type { Kernel, RegionNode, Trace, Track } from './model';
import type { Member } from './zip';

export type Tables = { [T in TableName]: Table<T> };

/** Counts contradictions of one sort and keeps the first as an example. */
class Defects {
  private found = new Map<string, { count: number; example: string }>();
  add(sort: string, example: string): void {
    const entry = this.found.get(sort);
    if (entry) entry.count++;
    else this.found.set(sort, { count: 1, example });
  }
  list(): string[] {
    return [...this.found].map(([sort, { count, example }]) => `${sort}: ${example}${count > 1 ? ` and ${count - 1} more` : ''}.`);
  }
}

export function build(name: string, file: Blob, members: Map<string, Member>, manifest: Manifest, tables: Tables): Trace {
  const { ops, launches, dispatches, memory, sync, stats } = tables;
  const defects = new Defects();
  checkCounts(manifest, tables, members, defects);
  const { arrays, launchIds } = index(tables, defects);
  const inputRows = linkInputs(ops, arrays, defects);
  const launchOfOp = new Int32Array(ops.rows).fill(-1);
  for (let row = 0; row < ops.rows; row++) {
    const id = ops.launch[row]!;
    if (id < 0) continue;
    launchOfOp[row] = launchIds.row(id);
    if (launchOfOp[row]! < 0) defects.add('Operations name launches that are not in the file', `operation ${ops.id[row]} names launch ${id}`);
  }
  const launchOpRows = new Int32Array(launches.ops.values.length);
  for (let i = 0; i < launchOpRows.length; i++) {
    launchOpRows[i] = arrays.row(launches.ops.values[i]!);
    if (launchOpRows[i]! < 0) defects.add('Launches name operations that are not in the file', `operation ${launches.ops.values[i]}`);
  }
  const kindOfOp = byWord(ops.family, kindOfFamily);
  const byName = byWord(ops.name, kindOf);
  for (let row = 0; row < ops.rows; row++) if (ops.family.codes[row]! < 0) kindOfOp[row] = byName[row]!;
  const kindOfLaunch = launchKinds(launches, launchOpRows, kindOfOp);
  const regions = buildRegions(manifest, defects);
  const regionRows = new Map(regions.map((region) => [region.id, region.row]));
  const regionOfOp = ops.region.map((id) => (id < 0 ? -1 : (regionRows.get(id) ?? -1)));
  const { begin, end } = extent(manifest, launches, memory, sync, defects);
  const { lives, lifeOfOp } = buildLives(memory, ops, arrays, begin, end);
  const trace: Trace = {
    name, file, members, manifest, ops, launches, dispatches, dispatchesOfLaunch: buildDispatches(dispatches, launchIds), memory, sync, stats, arrays, launchIds, inputRows, launchOfOp, launchOpRows, kindOfOp,
    kindOfLaunch, regions, regionOfOp, begin, end, lives, lifeOfOp,
    statOfArray: new IdIndex(stats.array),
    readers: buildReaders(ops, inputRows),
    ...buildKernels(launches, kindOfLaunch),
    tracks: buildTracks(manifest, launches),
    tensors: tensorIds(members),
    defects: [],
    incomplete: false,
  };
  trace.defects = defects.list();
  return trace;
}

function checkCounts(manifest: Manifest, tables: Tables, members: Map<string, Member>, defects: Defects): void {
  if (manifest.partial) return;
  for (const name of Object.keys(tables) as TableName[]) {
    const wanted = manifest.counts[name];
    if (wanted !== undefined && wanted !== tables[name].rows) defects.add('Tables have other lengths than the manifest says', `\`${name}\` has ${tables[name].rows} rows instead of ${wanted}`);
  }
  for (const [folder, wanted] of [['kernels', manifest.counts.kernels], ['tensors', manifest.counts.tensors]] as const) {
    const found = [...members.keys()].filter((member) => member.startsWith(`${folder}/`)).length;
    if (wanted !== undefined && found < wanted) defects.add('Members are missing', `${found} of ${wanted} in \`${folder}/\``);
  }
}

function index({ ops, launches }: Tables, defects: Defects) {
  const ids = new Float64Array(ops.rows + ops.outputs.values.length);
  const rows = new Int32Array(ids.length);
  let n = 0;
  for (let row = 0; row < ops.rows; row++) {
    const [from, to] = [ops.outputs.offsets[row]!, ops.outputs.offsets[row + 1]!];
    ids[n] = ops.id[row]!;
    rows[n++] = row;
    for (let i = from; i < to; i++) {
      if (ops.outputs.values[i] === ops.id[row]) continue;
      ids[n] = ops.outputs.values[i]!;
      rows[n++] = row;
    }
  }
  const arrays = new IdIndex(ids.subarray(0, n), (i) => rows[i]!);
  if (arrays.duplicate !== null) defects.add('Array ids are used twice', `array ${arrays.duplicate}`);
  const launchIds = new IdIndex(launches.id);
  if (launchIds.duplicate !== null) defects.add('Launch ids are used twice', `launch ${launchIds.duplicate}`);
  return { arrays, launchIds };
}

/** Producers come before consumers; what breaks the order could be a cycle and is cut. */
function linkInputs(ops: Table<'ops'>, arrays: IdIndex, defects: Defects): Int32Array {
  const rows = new Int32Array(ops.inputs.values.length).fill(-1);
  for (let row = 0; row < ops.rows; row++) {
    for (let i = ops.inputs.offsets[row]!; i < ops.inputs.offsets[row + 1]!; i++) {
      const from = arrays.row(ops.inputs.values[i]!);
      if (from < 0) defects.add('Operations read arrays that are not in the file', `operation ${ops.id[row]} reads array ${ops.inputs.values[i]}`);
      else if (from >= row) defects.add('Operations depend on later ones or on themselves', `operation ${ops.id[row]} reads array ${ops.inputs.values[i]}`);
      else rows[i] = from;
    }
  }
  return rows;
}

function buildReaders(ops: Table<'ops'>, inputRows: Int32Array) {
  const offsets = new Uint32Array(ops.rows + 1);
  for (const from of inputRows) if (from >= 0) offsets[from + 1]!++;
  for (let i = 0; i < ops.rows; i++) offsets[i + 1]! += offsets[i]!;
  const [values, next] = [new Int32Array(offsets[ops.rows]!), offsets.slice()];
  for (let row = 0; row < ops.rows; row++) {
    for (let i = ops.inputs.offsets[row]!; i < ops.inputs.offsets[row + 1]!; i++) if (inputRows[i]! >= 0) values[next[inputRows[i]!]!++] = row;
  }
  return { offsets, values };
}

function byWord(text: Text, f: (word: string) => number): Uint8Array {
  const kinds = text.words.map(f);
  const out = new Uint8Array(text.codes.length);
  for (let i = 0; i < out.length; i++) out[i] = kinds[text.codes[i]!] ?? 0;
  return out;
}

/** Rows of `dispatches` of each launch, which follow each other in the file. */
function buildDispatches(dispatches: Table<'dispatches'>, launchIds: IdIndex): Map<number, [number, number]> {
  const found = new Map<number, [number, number]>();
  for (let row = 0; row < dispatches.rows; row++) {
    const launch = launchIds.row(dispatches.launch[row]!);
    const known = found.get(launch);
    if (known && known[1] === row) known[1] = row + 1;
    else if (!known && launch >= 0) found.set(launch, [row, row + 1]);
  }
  return found;
}

function launchKinds(launches: Table<'launches'>, launchOpRows: Int32Array, kindOfOp: Uint8Array): Uint8Array {
  const kinds = byWord(launches.kernel, kindOfKernel);
  for (let row = 0; row < launches.rows; row++) {
    let best = 0;
    for (let i = launches.ops.offsets[row]!; i < launches.ops.offsets[row + 1]!; i++) if (launchOpRows[i]! >= 0) best = Math.max(best, kindOfOp[launchOpRows[i]!]!);
    if (best) kinds[row] = best;
  }
  return kinds;
}

/** One kernel is one label and device, as everywhere else; it may have several sources. */
function buildKernels(launches: Table<'launches'>, kindOfLaunch: Uint8Array): { kernels: Kernel[]; kernelOfLaunch: Int32Array } {
  const kernelOfLaunch = new Int32Array(launches.rows);
  const numbers = new Map<number, number>();
  const devices = launches.device.words.length + 1;
  const counts: number[] = [];
  for (let row = 0; row < launches.rows; row++) {
    const key = launches.kernel.codes[row]! * devices + launches.device.codes[row]! + 1;
    let number = numbers.get(key);
    if (number === undefined) numbers.set(key, (number = counts.push(0) - 1));
    kernelOfLaunch[row] = number;
    counts[number]!++;
  }
  const kernels: Kernel[] = counts.map((count) => ({ name: '', sources: [], device: '', kind: 0, rows: new Int32Array(count), time: 0, bytes: 0, flops: 0 }));
  const filled = new Uint32Array(kernels.length);
  const seen = kernels.map(() => new Set<number>());
  for (let row = 0; row < launches.rows; row++) {
    const number = kernelOfLaunch[row]!;
    const kernel = kernels[number]!;
    if (filled[number] === 0) {
      kernel.name = word(launches.kernel, row);
      kernel.device = word(launches.device, row);
      kernel.kind = kindOfLaunch[row]!;
    }
    const source = launches.source.codes[row]!;
    if (source >= 0 && !seen[number]!.has(source)) {
      seen[number]!.add(source);
      kernel.sources.push(launches.source.words[source]!);
    }
    kernel.rows[filled[number]!++] = row;
    kernel.time += launches.end_ns[row]! - launches.start_ns[row]!;
    kernel.bytes += launches.bytes[row]!;
    kernel.flops += launches.flops[row]!;
  }
  return { kernels, kernelOfLaunch };
}

function buildTracks(manifest: Manifest, launches: Table<'launches'>): Track[] {
  const byStream = new Map<number, number[]>();
  for (const stream of manifest.streams) byStream.set(stream.index, []);
  for (let row = 0; row < launches.rows; row++) {
    const stream = launches.stream[row]!;
    const rows = byStream.get(stream);
    if (rows) rows.push(row);
    else byStream.set(stream, [row]);
  }
  return [...byStream].sort((a, b) => a[0] - b[0]).map(([stream, list]) => {
    const rows = Int32Array.from(list);
    let sorted = true;
    for (let i = 1; i < rows.length && sorted; i++) sorted = launches.start_ns[rows[i]!]! >= launches.start_ns[rows[i - 1]!]!;
    if (!sorted) rows.sort((a, b) => launches.start_ns[a]! - launches.start_ns[b]!);
    const [start, end, busy] = [new Float64Array(rows.length), new Float64Array(rows.length), new Float64Array(rows.length + 1)];
    for (let i = 0; i < rows.length; i++) {
      start[i] = launches.start_ns[rows[i]!]!;
      end[i] = launches.end_ns[rows[i]!]!;
      busy[i + 1] = busy[i]! + end[i]! - start[i]!;
    }
    const known = manifest.streams.find((s) => s.index === stream);
    const device = known?.device || (rows.length > 0 ? word(launches.device, rows[0]!) : '');
    return { stream, label: known?.label || `stream ${stream}`, device, rows, start, end, busy };
  });
}

function buildRegions(manifest: Manifest, defects: Defects): RegionNode[] {
  const regions = manifest.regions.map((region, row): RegionNode => ({ ...region, row, up: -1, depth: 0, children: [] }));
  const rows = new Map(regions.map((region) => [region.id, region]));
  if (rows.size !== regions.length) defects.add('Region ids are used twice', 'in the manifest');
  for (const region of regions) {
    const parent = region.parent === null ? undefined : rows.get(region.parent);
    // A parent is opened first, so it stands earlier; anything else could be a cycle.
    if (parent && parent.row < region.row) {
      parent.children.push(region.row);
      region.up = parent.row;
      region.depth = parent.depth + 1;
    } else if (region.parent !== null) {
      defects.add('Regions have parents that are not there or come later', `region ${region.id}`);
      region.parent = null;
    }
  }
  return regions;
}

/** The range of all times; launches that end before they start get no length. */
function extent(manifest: Manifest, launches: Table<'launches'>, memory: Table<'memory'>, sync: Table<'sync'>, defects: Defects) {
  let [begin, end] = [0, manifest.duration];
  for (let i = 0; i < launches.rows; i++) {
    if (launches.end_ns[i]! < launches.start_ns[i]!) {
      defects.add('Launches end before they start', `launch ${launches.id[i]}`);
      launches.end_ns[i] = launches.start_ns[i]!;
    }
    if (launches.start_ns[i]! < begin) begin = launches.start_ns[i]!;
    if (launches.end_ns[i]! > end) end = launches.end_ns[i]!;
  }
  for (let i = 0; i < memory.rows; i++) end = Math.max(end, memory.time_ns[i]!);
  for (let i = 0; i < sync.rows; i++) end = Math.max(end, sync.time_ns[i]! + sync.duration_ns[i]!);
  return { begin, end: Math.max(end, begin + 1) };
}

function tensorIds(members: Map<string, Member>): Set<number> {
  const ids = new Set<number>();
  for (const name of members.keys()) {
    const match = /^tensors\/(\d{1,15})\.npy$/.exec(name);
    if (match) ids.add(Number(match[1]));
  }
  return ids;
}
