// Reads a ZIP archive piece by piece from a Blob: the directory first, members when asked for.
// Everything the archive says about itself is checked before memory is given to it.

import { crc32 } from './crc32';
import { TraceError } from './error';

export interface Member {
  name: string;
  /** 0 stored, 8 deflate. */
  method: number;
  crc: number;
  packed: number;
  size: number;
  /** Where the local header begins. */
  at: number;
}

/** Deflate cannot do better than this. */
const MAX_RATIO = 1032;
const MAX_MEMBERS = 1_000_000;
const CUT = 'The file was probably cut short. `pellucid recover` can save what is in it.';

async function bytes(file: Blob, from: number, to: number): Promise<DataView> {
  return new DataView(await file.slice(from, to).arrayBuffer());
}

/** Finds the end record; a comment of up to 64 kB may follow it. */
async function endRecord(file: Blob): Promise<{ view: DataView; at: number; start: number }> {
  const start = Math.max(0, file.size - 65_557);
  const view = await bytes(file, start, file.size);
  for (let at = view.byteLength - 22; at >= 0; at--) {
    if (view.getUint32(at, true) === 0x06054b50) return { view, at, start };
  }
  const head = await bytes(file, 0, 4);
  if (head.byteLength === 4 && head.getUint32(0, true) === 0x04034b50) {
    throw new TraceError('This trace has no end: its table of contents is missing.', CUT);
  }
  throw new TraceError('This is not a trace: the file is not a ZIP archive.', 'A trace is a file that ends in .pltrace.');
}

const big = (view: DataView, at: number): number => {
  const value = view.getBigUint64(at, true);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new TraceError('The archive claims an impossible size.');
  return Number(value);
};

/** The sizes and position of a member that did not fit 32 bits. */
function widen(member: Member, extra: DataView): void {
  for (let at = 0; at + 4 <= extra.byteLength; ) {
    const [kind, length] = [extra.getUint16(at, true), extra.getUint16(at + 2, true)];
    if (kind === 1) {
      let next = at + 4;
      const end = Math.min(next + length, extra.byteLength);
      const take = () => {
        if (next + 8 > end) throw new TraceError(`${member.name}: the ZIP64 record is too short.`);
        next += 8;
        return big(extra, next - 8);
      };
      if (member.size === 0xffffffff) member.size = take();
      if (member.packed === 0xffffffff) member.packed = take();
      if (member.at === 0xffffffff) member.at = take();
      return;
    }
    at += 4 + length;
  }
}

/** The members of an archive by name. */
export async function readDirectory(file: Blob): Promise<Map<string, Member>> {
  const { view: tail, at, start } = await endRecord(file);
  let [count, size, offset] = [tail.getUint16(at + 10, true), tail.getUint32(at + 12, true), tail.getUint32(at + 16, true)];
  const locator = at - 20;
  if (locator >= 0 && tail.getUint32(locator, true) === 0x07064b50) {
    const wide = await bytes(file, big(tail, locator + 8), big(tail, locator + 8) + 56);
    if (wide.byteLength < 56 || wide.getUint32(0, true) !== 0x06064b50) throw new TraceError('The ZIP64 end record is damaged.', CUT);
    [count, size, offset] = [big(wide, 32), big(wide, 40), big(wide, 48)];
  }
  if (offset + size > start + at || count > MAX_MEMBERS) throw new TraceError('The table of contents lies outside of the file.', CUT);
  const view = await bytes(file, offset, offset + size);
  const members = new Map<string, Member>();
  const text = new TextDecoder();
  let next = 0;
  for (let i = 0; i < count; i++) {
    if (next + 46 > size || view.getUint32(next, true) !== 0x02014b50) throw new TraceError('The table of contents is damaged.', CUT);
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((o) => view.getUint16(next + o, true)) as [number, number, number];
    const after = next + 46 + nameLength + extraLength + commentLength;
    if (after > size) throw new TraceError('The table of contents is damaged.', CUT);
    const member: Member = {
      name: text.decode(new Uint8Array(view.buffer, next + 46, nameLength)),
      method: view.getUint16(next + 10, true),
      crc: view.getUint32(next + 16, true),
      packed: view.getUint32(next + 20, true),
      size: view.getUint32(next + 24, true),
      at: view.getUint32(next + 42, true),
    };
    if (view.getUint16(next + 8, true) & 1) throw new TraceError(`${member.name} is encrypted.`);
    widen(member, new DataView(view.buffer, next + 46 + nameLength, extraLength));
    check(member, file.size);
    if (members.has(member.name)) throw new TraceError(`${member.name} is in the archive twice.`);
    members.set(member.name, member);
    next = after;
  }
  return members;
}

function check(member: Member, fileSize: number): void {
  if (member.method !== 0 && member.method !== 8) throw new TraceError(`${member.name} is packed with method ${member.method}; only deflate is known.`);
  if (member.at + member.packed > fileSize) throw new TraceError(`${member.name} lies outside of the file.`, CUT);
  if (member.method === 0 ? member.size !== member.packed : member.size > member.packed * MAX_RATIO + 1024) {
    throw new TraceError(`${member.name} claims to unpack ${member.packed} bytes to ${member.size}, which is impossible.`);
  }
}

/** The content of a member, unpacked and checked against its checksum. */
export async function readMember(file: Blob, member: Member, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  if (member.size > limit) throw new TraceError(`${member.name} has ${member.size} bytes; at most ${limit} are read.`);
  const head = await bytes(file, member.at, member.at + 30);
  if (head.byteLength < 30 || head.getUint32(0, true) !== 0x04034b50) throw new TraceError(`${member.name} is not where the table of contents says.`, CUT);
  const from = member.at + 30 + head.getUint16(26, true) + head.getUint16(28, true);
  const packed = file.slice(from, from + member.packed);
  const content = member.method === 0 ? new Uint8Array(await packed.arrayBuffer()) : await inflate(packed, member);
  if (content.length !== member.size) throw new TraceError(`${member.name} has ${content.length} bytes instead of ${member.size}.`, CUT);
  if (crc32(content) !== member.crc) throw new TraceError(`${member.name} is damaged: its checksum is wrong.`);
  return content;
}

async function inflate(packed: Blob, member: Member): Promise<Uint8Array<ArrayBuffer>> {
  const out = new Uint8Array(member.size);
  let used = 0;
  const reader = packed.stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return used === out.length ? out : out.slice(0, used);
      if (used + value.length > out.length) {
        await reader.cancel();
        throw new TraceError(`${member.name} unpacks to more than the ${member.size} bytes it claims.`);
      }
      out.set(value, used);
      used += value.length;
    }
  } catch (error) {
    if (error instanceof TraceError) throw error;
    throw new TraceError(`${member.name} cannot be unpacked: its compressed data is damaged.`, CUT);
  }
}
