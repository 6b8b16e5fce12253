// Joins the parts of a table that several workers have read.

import { type Form, type LazyText, type Lists, type Nested, TABLES, type Table, type TableName, type Text, type TextLists } from './columns';

type Numbers = Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

function concat<A extends Numbers>(parts: A[]): A {
  const out = new (parts[0]!.constructor as new (size: number) => A)(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part as never, at);
    at += part.length;
  }
  return out;
}

/** Offsets that begin with 0 in each part, and go on where the part before ended. */
function offsets<A extends Float64Array<ArrayBuffer> | Uint32Array<ArrayBuffer>>(parts: A[]): A {
  let base = 0;
  return concat(parts.map((part, p) => {
    const moved = part.slice(p === 0 ? 0 : 1) as A;
    if (base > 0) for (let i = 0; i < moved.length; i++) moved[i]! += base;
    base += part[part.length - 1]!;
    return moved;
  }));
}

/** Words get one number in all parts. */
function text(parts: Text[]): Text {
  const [words, numbers] = [[] as string[], new Map<string, number>()];
  const codes = parts.map((part) => {
    const map = part.words.map((word) => {
      let code = numbers.get(word);
      if (code === undefined) numbers.set(word, (code = words.push(word) - 1));
      return code;
    });
    return part.codes.map((code) => (code < 0 ? -1 : map[code]!)) as Int32Array<ArrayBuffer>;
  });
  return { codes: concat(codes), words };
}

const JOIN: Record<Form, (parts: never[]) => unknown> = {
  id: concat<Numbers>, number: concat<Numbers>, int: concat<Numbers>, bool: concat<Numbers>, text,
  lazy: (parts: LazyText[]) => ({ bytes: concat(parts.map((p) => p.bytes)), offsets: offsets(parts.map((p) => p.offsets)) }),
  ids: (parts: Lists[]) => ({ offsets: offsets(parts.map((p) => p.offsets)), values: concat(parts.map((p) => p.values)) }),
  texts: (parts: TextLists[]) => ({ ...text(parts), offsets: offsets(parts.map((p) => p.offsets)) }),
  nested: (parts: Nested[]) => ({ offsets: offsets(parts.map((p) => p.offsets)), inner: offsets(parts.map((p) => p.inner)), values: concat(parts.map((p) => p.values)) }),
};

export function merge<T extends TableName>(name: T, parts: Table<T>[]): Table<T> {
  if (parts.length === 1) return parts[0]!;
  const columns = Object.entries(TABLES[name]).map(([key, form]) => {
    const column = key.replace('?', '') as keyof Table<T>;
    return [column, JOIN[form](parts.map((part) => part[column]) as never[])];
  });
  return { ...Object.fromEntries(columns), rows: parts.reduce((sum, part) => sum + part.rows, 0) } as Table<T>;
}
