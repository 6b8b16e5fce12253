// From Arrow IPC streams to columns. Flechette finds the buffers; here they are checked and copied without
// making an object for every value.

import { tableFromIPC, Type } from '@uwdata/flechette';
import { type Form, TABLES, type TableName } from './columns';
import { TraceError } from './error';
import { Interner } from './intern';

/** What this file uses of a Flechette batch. */
interface Batch {
  length: number;
  nullCount: number;
  type: { typeId: number; bitWidth?: number; signed?: boolean };
  validity?: Uint8Array;
  values: Uint8Array;
  offsets: Int32Array;
  children: Batch[];
  at(row: number): unknown;
}

/** Grows by doubling; rows arrive chunk by chunk. */
class Grow<A extends Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>> {
  length = 0;
  constructor(
    private make: new (size: number) => A,
    public data: A = new make(1024),
  ) {}
  /** Makes room for more and returns where it begins. */
  extend(more: number): number {
    const [at, need] = [this.length, this.length + more];
    if (need > this.data.length) {
      const next = new this.make(Math.max(need, this.data.length * 2));
      next.set(this.data as never);
      this.data = next;
    }
    this.length = need;
    return at;
  }
  done(): A {
    return this.data.slice(0, this.length) as A;
  }
}

const wrong = (wanted: string, batch: Batch) => new TraceError(`should be ${wanted}, but has Arrow type ${batch.type.typeId}`);
const isNull = (batch: Batch, row: number) => batch.nullCount > 0 && !!batch.validity?.length && !((batch.validity[row >> 3]! >> (row & 7)) & 1);

/** A batch may not claim more rows than its buffers hold; everything after this may trust its length. */
function checkLength(batch: Batch): void {
  const { length, nullCount, validity, values, offsets, children } = batch;
  const short = () => new TraceError('is shorter than its table');
  if (!Number.isSafeInteger(length) || length < 0) throw new TraceError('has an impossible length');
  if (nullCount > 0 && validity && validity.length > 0 && validity.length * 8 < length) throw short();
  switch (batch.type.typeId) {
    case Type.Int:
    case Type.Float:
    case Type.Dictionary:
      if (!values || values.length < length) throw short();
      break;
    case Type.Bool:
      if (!values || values.length * 8 < length) throw short();
      break;
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.List:
      if (length > 0 && (!offsets || offsets.length < length + 1)) throw short();
      break;
    default:
      if (length > 0) throw new TraceError(`has Arrow type ${batch.type.typeId}, which no table uses`);
  }
  children?.forEach(checkLength);
}

/** Integers of any width as numbers; those beyond 2^53 are refused. */
function integers(batch: Batch, out: Float64Array | Int32Array, at: number): void {
  if (batch.type.typeId !== Type.Int) throw wrong('integers', batch);
  const n = batch.length;
  if (batch.type.bitWidth !== 64) {
    for (let i = 0; i < n; i++) out[at + i] = batch.values[i]!;
    return;
  }
  const { buffer, byteOffset } = batch.values;
  const low = new Uint32Array(buffer as ArrayBuffer, byteOffset, n * 2);
  const high = batch.type.signed ? new Int32Array(buffer as ArrayBuffer, byteOffset, n * 2) : low;
  for (let i = 0; i < n; i++) {
    const top = high[i * 2 + 1]!;
    if (top >= 0x200000 || top < -0x200000) throw new TraceError('holds a number beyond 2^53');
    out[at + i] = top * 4294967296 + low[i * 2]!;
  }
}

function numbers(batch: Batch, out: Float64Array | Int32Array, at: number, missing: number): void {
  if (batch.type.typeId === Type.Float) {
    for (let i = 0; i < batch.length; i++) out[at + i] = batch.values[i]!;
  } else {
    integers(batch, out, at);
  }
  if (batch.nullCount > 0) for (let i = 0; i < batch.length; i++) if (isNull(batch, i)) out[at + i] = missing;
}

/** Checks that offsets ascend and stay inside of what they point into. */
function checkOffsets(batch: Batch, size: number): Int32Array {
  const { offsets, length } = batch;
  if (length === 0) return new Int32Array(1);
  if (!(offsets instanceof Int32Array) || offsets.length < length + 1) throw new TraceError('has too few offsets');
  let before = 0;
  for (let i = 0; i <= length; i++) {
    const value = offsets[i]!;
    if (value < before) throw new TraceError('has offsets that go backwards');
    before = value;
  }
  if (before > size) throw new TraceError('points outside of its data');
  return offsets;
}

function lists(batch: Batch, out: Grow<Uint32Array<ArrayBuffer>>, base: number): Batch {
  if (batch.type.typeId !== Type.List) throw wrong('lists', batch);
  const child = batch.children[0]!;
  const offsets = checkOffsets(batch, child.length);
  const at = out.extend(batch.length);
  for (let i = 0; i < batch.length; i++) out.data[at + i] = base + offsets[i + 1]!;
  return child;
}

interface Builder {
  add(batch: Batch): void;
  /** Adds missing values: rows of a file that does not have the column. */
  skip?(rows: number): void;
  done(): { value: unknown; buffers: ArrayBuffer[] };
}

const startsAtZero = () => {
  const offsets = new Grow<Uint32Array<ArrayBuffer>>(Uint32Array);
  offsets.extend(1);
  return offsets;
};

function textCodes(batch: Batch, out: Int32Array, at: number, interner: Interner): void {
  if (batch.type.typeId === Type.Utf8) {
    const offsets = checkOffsets(batch, batch.values.length);
    for (let i = 0; i < batch.length; i++) out[at + i] = isNull(batch, i) ? -1 : interner.bytes(batch.values, offsets[i]!, offsets[i + 1]!);
  } else if (batch.type.typeId === Type.Dictionary || batch.type.typeId === Type.LargeUtf8) {
    for (let i = 0; i < batch.length; i++) {
      const value = batch.at(i);
      if (value !== null && typeof value !== 'string') throw wrong('text', batch);
      out[at + i] = value === null ? -1 : interner.text(value);
    }
  } else {
    throw wrong('text', batch);
  }
}

function builder(form: Form): Builder {
  switch (form) {
    case 'id':
    case 'number': {
      const out = new Grow<Float64Array<ArrayBuffer>>(Float64Array);
      return {
        add: (batch) => numbers(batch, ...grown(out, batch), form === 'id' ? -1 : NaN),
        done: () => pack(out.done()),
      };
    }
    case 'int': {
      const out = new Grow<Int32Array<ArrayBuffer>>(Int32Array);
      return { add: (batch) => numbers(batch, ...grown(out, batch), -1), done: () => pack(out.done()) };
    }
    case 'bool': {
      const out = new Grow<Uint8Array<ArrayBuffer>>(Uint8Array);
      return {
        add(batch) {
          if (batch.type.typeId !== Type.Bool) throw wrong('true or false', batch);
          const at = out.extend(batch.length);
          for (let i = 0; i < batch.length; i++) out.data[at + i] = (batch.values[i >> 3]! >> (i & 7)) & 1;
        },
        done: () => pack(out.done()),
      };
    }
    case 'text': {
      const [codes, interner] = [new Grow<Int32Array<ArrayBuffer>>(Int32Array), new Interner()];
      return {
        add(batch) {
          const at = codes.extend(batch.length);
          textCodes(batch, codes.data, at, interner);
        },
        skip(rows) {
          const at = codes.extend(rows);
          codes.data.fill(-1, at, at + rows);
        },
        done() {
          const all = codes.done();
          return { value: { codes: all, words: interner.words }, buffers: [all.buffer] };
        },
      };
    }
    case 'lazy': {
      const [bytes, offsets] = [new Grow<Uint8Array<ArrayBuffer>>(Uint8Array), new Grow<Float64Array<ArrayBuffer>>(Float64Array)];
      offsets.extend(1);
      return {
        add(batch) {
          if (batch.type.typeId !== Type.Utf8) throw wrong('text', batch);
          const from = checkOffsets(batch, batch.values.length);
          const base = bytes.extend(from[batch.length]! - from[0]!) - from[0]!;
          bytes.data.set(batch.values.subarray(from[0], from[batch.length]), base + from[0]!);
          const at = offsets.extend(batch.length);
          for (let i = 0; i < batch.length; i++) offsets.data[at + i] = base + from[i + 1]!;
        },
        done() {
          const value = { bytes: bytes.done(), offsets: offsets.done() };
          return { value, buffers: [value.bytes.buffer, value.offsets.buffer] };
        },
      };
    }
    case 'ids': {
      const [offsets, values] = [startsAtZero(), new Grow<Float64Array<ArrayBuffer>>(Float64Array)];
      return {
        add(batch) {
          const child = lists(batch, offsets, values.length);
          integers(child, ...grown(values, child));
        },
        done() {
          const value = { offsets: offsets.done(), values: values.done() };
          return { value, buffers: [value.offsets.buffer, value.values.buffer] };
        },
      };
    }
    case 'texts': {
      const [offsets, codes, interner] = [startsAtZero(), new Grow<Int32Array<ArrayBuffer>>(Int32Array), new Interner()];
      return {
        add(batch) {
          const child = lists(batch, offsets, codes.length);
          const at = codes.extend(child.length);
          textCodes(child, codes.data, at, interner);
        },
        done() {
          const value = { offsets: offsets.done(), codes: codes.done(), words: interner.words };
          return { value, buffers: [value.offsets.buffer, value.codes.buffer] };
        },
      };
    }
    case 'nested': {
      const [offsets, inner, values] = [startsAtZero(), startsAtZero(), new Grow<Float64Array<ArrayBuffer>>(Float64Array)];
      return {
        add(batch) {
          const child = lists(batch, offsets, inner.length - 1);
          const leaf = lists(child, inner, values.length);
          integers(leaf, ...grown(values, leaf));
        },
        done() {
          const value = { offsets: offsets.done(), inner: inner.done(), values: values.done() };
          return { value, buffers: [value.offsets.buffer, value.inner.buffer, value.values.buffer] };
        },
      };
    }
  }
}

/** Room for a batch: the array to write into and the place. */
function grown<A extends Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer>>(out: Grow<A>, batch: Batch): [A, number] {
  const at = out.extend(batch.length);
  return [out.data, at];
}

function pack(value: Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>) {
  return { value, buffers: [value.buffer] };
}

/** Collects the chunks of one table. */
export class TableReader {
  rows = 0;
  private builders: [column: string, optional: boolean, added: boolean, form: Form, Builder][];
  constructor(private name: TableName) {
    this.builders = Object.entries(TABLES[name]).map(([key, form]) => [key.replaceAll('?', ''), key.endsWith('?'), key.endsWith('??'), form, builder(form)]);
  }

  /** Adds the rows of one member. */
  add(member: string, bytes: Uint8Array<ArrayBuffer>): void {
    const table = tableFromIPC(bytes, { useBigInt: true });
    const before = this.rows;
    let rows = 0;
    for (const [column, optional, added, form, build] of this.builders) {
      const found = table.getChild(column) as unknown as { data: Batch[]; length: number } | undefined;
      if (!found && added) {
        build.skip?.(table.numRows);
        continue;
      }
      if (!found) throw new TraceError(`${member} has no column \`${column}\`, which the table \`${this.name}\` needs.`);
      rows = found.length;
      if (rows !== table.numRows) throw new TraceError(`${member}: column \`${column}\` has ${rows} rows, the table ${table.numRows}.`);
      for (const batch of found.data) {
        try {
          if (batch.nullCount > 0 && !optional && form !== 'lazy') throw new TraceError('is empty in some rows');
          checkLength(batch);
          build.add(batch);
        } catch (error) {
          if (error instanceof TraceError) throw new TraceError(`${member}: column \`${column}\` ${error.message}.`, 'The file was not written by Pellucid, or by a version that differs.');
          throw error;
        }
      }
    }
    this.rows = before + rows;
  }

  done(): { table: Record<string, unknown>; buffers: ArrayBuffer[] } {
    const table: Record<string, unknown> = { rows: this.rows };
    const buffers: ArrayBuffer[] = [];
    for (const [column, , , , build] of this.builders) {
      const { value, buffers: more } = build.done();
      table[column] = value;
      buffers.push(...more);
    }
    return { table, buffers };
  }
}
