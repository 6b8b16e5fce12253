// Opens a trace: directory, manifest, then all tables at the same time, each in a worker of its own.

import { build, type Tables } from './build';
import { TABLES, type TableName } from './columns';
import { explain, TraceError } from './error';
import { readManifest } from './manifest';
import type { Trace } from './model';
import type { Reply, Request } from './worker';
import TraceWorker from './worker?worker&inline';
import { type Member, readDirectory, readMember } from './zip';

/** What the tables of a trace may take when unpacked. */
const MAX_TABLES = 2 * 1024 ** 3;
/** Tables pack well, but not beyond this; what claims more wants to fill the memory. */
const MAX_TABLE_RATIO = 400;
const MAX_TENSOR = 512 * 1024 ** 2;
const MAX_TEXT = 16 * 1024 ** 2;

/** Runs one task in a worker. */
export function inWorker<T>(request: Request): Promise<T> {
  return new Promise((resolve, reject) => {
    const worker = new TraceWorker();
    const end = (action: () => void) => {
      worker.terminate();
      action();
    };
    worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      end(() => ('error' in data ? reject(new TraceError(data.error.message, data.error.hint)) : resolve(data.value as T)));
    };
    worker.onerror = (event) => {
      end(() => reject(new TraceError(`The trace cannot be read: ${event.message || 'out of memory'}.`)));
    };
    worker.postMessage(request);
  });
}

export async function openTrace(file: Blob, name: string, progress: (text: string) => void, overlook = false): Promise<Trace> {
  progress('Reading the table of contents');
  const members = await readDirectory(file).catch((error: unknown) => Promise.reject(explain(error, 'The archive')));
  const entry = members.get('manifest.json');
  if (!entry) throw new TraceError('This trace has no manifest.json.', 'The capture did not end properly. `pellucid recover` can save what is in the file.');
  const manifest = readManifest(new TextDecoder().decode(await readMember(file, entry, MAX_TEXT)));
  const chunks = tableMembers(members);
  progress('Reading tables');
  const names = Object.keys(TABLES) as TableName[];
  let left = names.length;
  const parts = await Promise.all(
    names.map(async (table) => {
      const value = await inWorker<Tables[TableName]>({ task: 'table', file, name: table, members: chunks[table], limit: MAX_TABLES });
      progress(`Reading tables: ${--left} to go`);
      return [table, value] as const;
    }),
  );
  progress('Linking');
  const trace = build(name, file, members, manifest, Object.fromEntries(parts) as unknown as Tables);
  if (trace.defects.length > 0 && !overlook && !manifest.truncated && !manifest.partial) {
    throw new TraceError('This trace contradicts itself.', 'It was damaged, or not written by Pellucid.', trace.defects);
  }
  return trace;
}

/** The chunks of each table in order; a gap in their numbers means that one is missing. */
function tableMembers(members: Map<string, Member>): Record<TableName, Member[]> {
  const chunks = Object.fromEntries(Object.keys(TABLES).map((name) => [name, [] as Member[]])) as Record<TableName, Member[]>;
  let total = 0;
  for (const member of members.values()) {
    const match = /^(ops|launches|memory|sync|stats)\/(\d{6,9})\.arrow$/.exec(member.name);
    if (!match) continue;
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
