// Opens a trace: directory, manifest, then all tables at the same time, each in a worker of its own.

import { build, type Tables } from './build';
import { emptyTable, type Table, TABLES, type TableName } from './columns';
import { explain, TraceError } from './error';
import { merge } from './merge';
import { readManifest } from './manifest';
import type { Trace } from './model';
import type { Reply, Request } from './worker';
import TraceWorker from './worker?worker&inline';
import { type Member, readDirectory, readMember } from './zip';

/** What the tables of a trace may take when unpacked. */
const MAX_TABLES = 2 * 1024 ** 3;
/** Tables pack well, but not beyond this; what claims more wants to fill the memory. */
const MAX_TABLE_RATIO = 400;
/** Tables with more bytes than this are shared among workers, and operations waited for with the launches in sight. */
const LARGE = 24 * 1024 ** 2;
/** Milliseconds after which a silent worker hangs: a damaged table can claim a billion columns. */
function patience(request: Request): number {
  if (request.task === 'layout') return 120_000;
  return 10_000 + Math.max(...request.members.map((member) => member.size)) / 2000;
}
const MAX_TENSOR = 512 * 1024 ** 2;
const MAX_TEXT = 16 * 1024 ** 2;
/** Regions stand in the manifest, and there may be many. */
const MAX_MANIFEST = 256 * 1024 ** 2;

/** Runs one task in a worker. */
export function inWorker<T>(request: Request): Promise<T> {
  return new Promise((resolve, reject) => {
    const worker = new TraceWorker();
    const end = (action: () => void) => {
      clearTimeout(watch);
      worker.terminate();
      action();
    };
    const giveUp = () => end(() => reject(new TraceError(`Reading ${request.task === 'table' ? `the table \`${request.name}\`` : 'the graph'} takes too long.`, 'The file is damaged, or far too large for a browser.')));
    let watch = setTimeout(giveUp, patience(request));
    worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      if ('alive' in data) {
        clearTimeout(watch);
        watch = setTimeout(giveUp, patience(request));
        return;
      }
      end(() => ('error' in data ? reject(new TraceError(data.error.message, data.error.hint)) : resolve(data.value as T)));
    };
    worker.onerror = (event) => {
      end(() => reject(new TraceError(`The trace cannot be read: ${event.message || 'out of memory'}.`)));
    };
    worker.postMessage(request);
  });
}

export interface Options {
  progress(text: string): void;
  /** Gets the launches of a large trace before its operations are read. */
  preview?(trace: Trace): void;
  /** Opens a trace that contradicts itself, without the parts that do. */
  overlook?: boolean;
}

export async function openTrace(file: Blob, name: string, { progress, preview, overlook }: Options): Promise<Trace> {
  progress('Reading the table of contents');
  const members = await readDirectory(file).catch((error: unknown) => Promise.reject(explain(error, 'The archive')));
  const entry = members.get('manifest.json');
  if (!entry) throw new TraceError('This trace has no manifest.json.', 'The capture did not end properly. `pellucid recover` can save what is in the file.');
  const manifest = readManifest(new TextDecoder().decode(await readMember(file, entry, MAX_MANIFEST)));
  const chunks = tableMembers(members);
  const tables = Object.fromEntries((Object.keys(TABLES) as TableName[]).map((table) => [table, emptyTable(table)])) as unknown as Tables;
  const read = async <T extends TableName>(table: T) => {
    const parts = shares(chunks[table]).map((part) => inWorker<Table<T>>({ task: 'table', file, name: table, members: part, limit: MAX_TABLES }));
    if (parts.length > 0) (tables as Record<TableName, unknown>)[table] = merge(table, await Promise.all(parts));
  };
  const rest = () => Promise.all([read('memory'), read('sync'), read('ops'), read('stats'), read('dispatches')]);
  progress('Reading launches');
  if (preview && sizeOf(chunks.ops) > LARGE) {
    await read('launches');
    preview({ ...build(name, file, members, manifest, { ...tables }), defects: [], incomplete: true });
    progress('Reading operations and memory');
    await rest();
  } else {
    await Promise.all([read('launches'), rest()]);
  }
  progress('Linking');
  const trace = build(name, file, members, manifest, tables);
  if (trace.defects.length > 0 && !overlook && !manifest.truncated && !manifest.partial) {
    throw new TraceError('This trace contradicts itself.', 'It was damaged, or not written by Pellucid.', trace.defects);
  }
  return trace;
}

const sizeOf = (members: Member[]): number => members.reduce((sum, member) => sum + member.size, 0);

/** Parts of a table of about the same size, one for each worker. */
function shares(members: Member[]): Member[][] {
  const total = sizeOf(members);
  const workers = total > LARGE ? Math.max(2, Math.min(4, navigator.hardwareConcurrency || 2)) : 1;
  const parts: Member[][] = Array.from({ length: workers }, () => []);
  let before = 0;
  for (const member of members) {
    parts[Math.min(workers - 1, Math.floor((before / total) * workers))]!.push(member);
    before += member.size;
  }
  return parts.filter((part) => part.length > 0);
}

/** The chunks of each table in order; a gap in their numbers means that one is missing. */
function tableMembers(members: Map<string, Member>): Record<TableName, Member[]> {
  const chunks = Object.fromEntries(Object.keys(TABLES).map((name) => [name, [] as Member[]])) as Record<TableName, Member[]>;
  let total = 0;
  for (const member of members.values()) {
    const match = /^(\w+)\/(\d{6,9})\.arrow$/.exec(member.name);
    if (!match || !Object.hasOwn(chunks, match[1]!)) continue;
    total += member.size;
    if (member.size > 64 * 1024 ** 2 && member.size > member.packed * MAX_TABLE_RATIO) {
      throw new TraceError(`${member.name} claims to unpack ${member.packed} bytes to ${member.size}.`, 'This is not what tables look like; the file is not opened.');
    }
    chunks[match[1] as TableName][Number(match[2])] = member;
  }
  if (total > MAX_TABLES) throw new TraceError(`The tables take ${total} bytes when unpacked; at most ${MAX_TABLES} fit into a browser.`, 'Capture a shorter part, or use `pellucid summary`.');
  for (const [name, list] of Object.entries(chunks)) {
    for (let i = 0; i < list.length; i++) if (!list[i]) throw new TraceError(`${name}/${String(i).padStart(6, '0')}.arrow is missing.`);
  }
  return chunks;
}

/** A text member, such as a kernel's source. */
export async function readText(trace: Trace, name: string): Promise<string> {
  const member = trace.members.get(name);
  if (!member) throw new TraceError(`${name} is not in the trace.`);
  return new TextDecoder().decode(await readMember(trace.file, member, MAX_TEXT));
}

export async function readTensor(trace: Trace, array: number): Promise<Uint8Array<ArrayBuffer>> {
  const member = trace.members.get(`tensors/${array}.npy`);
  if (!member) throw new TraceError(`The data of array ${array} is not in the trace.`);
  return readMember(trace.file, member, MAX_TENSOR);
}
