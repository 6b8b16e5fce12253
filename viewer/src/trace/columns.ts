// The forms in which a table's columns are kept: typed arrays, so that a million rows cost megabytes, not objects.

/** Words by number; -1 stands for null. */
export interface Text {
  codes: Int32Array<ArrayBuffer>;
  words: string[];
}
/** Text that is decoded only for the rows somebody looks at. */
export interface LazyText {
  bytes: Uint8Array<ArrayBuffer>;
  offsets: Float64Array<ArrayBuffer>;
}
/** Row `i` has the values from `offsets[i]` to `offsets[i + 1]`. */
export interface Lists {
  offsets: Uint32Array<ArrayBuffer>;
  values: Float64Array<ArrayBuffer>;
}
export interface TextLists extends Text {
  offsets: Uint32Array<ArrayBuffer>;
}
/** Lists of lists: `offsets` points into `inner`, `inner` into `values`. */
export interface Nested extends Lists {
  inner: Uint32Array<ArrayBuffer>;
}

/** How to read a column: `id` and `int` have -1 for null, `number` has NaN. */
export type Form = 'id' | 'number' | 'int' | 'bool' | 'text' | 'lazy' | 'ids' | 'texts' | 'nested';
export interface FormTypes {
  id: Float64Array<ArrayBuffer>;
  number: Float64Array<ArrayBuffer>;
  int: Int32Array<ArrayBuffer>;
  bool: Uint8Array<ArrayBuffer>;
  text: Text;
  lazy: LazyText;
  ids: Lists;
  texts: TextLists;
  nested: Nested;
}

/** The columns of each table; a name that ends in `?` may hold nulls, one that ends in `??` is not in files of version 1. */
export const TABLES = {
  ops: {
    id: 'id', name: 'text', op: 'lazy', inputs: 'ids', outputs: 'ids', shapes: 'nested', dtypes: 'texts', device: 'text',
    stream: 'int', 'launch?': 'id', call_site: 'text', 'label?': 'text', 'region?': 'int', flops: 'number', bytes: 'number',
    fallback: 'bool', 'error?': 'text', 'buffer?': 'id', 'family??': 'text', 'fallback_reason??': 'text',
  },
  launches: {
    id: 'id', kernel: 'text', 'source?': 'text', device: 'text', stream: 'int', submission: 'id', grid: 'ids',
    enqueue_ns: 'number', start_ns: 'number', end_ns: 'number', timed_by: 'text', ops: 'ids', bytes: 'number', flops: 'number',
  },
  dispatches: {
    id: 'id', launch: 'id', op: 'id', kernel: 'text', 'source?': 'text', grid: 'ids', workgroup: 'ids', roles: 'texts', arrays: 'ids',
    buffers: 'ids', offsets: 'ids', sizes: 'ids', constants: 'ids', start_ns: 'number', end_ns: 'number', timed_by: 'text',
  },
  memory: {
    time_ns: 'number', event: 'text', buffer: 'id', bytes: 'number', 'op?': 'id', device: 'text', active: 'number',
    cache: 'number', peak: 'number',
  },
  sync: { time_ns: 'number', waiter: 'int', waited_for: 'int', duration_ns: 'number' },
  stats: {
    array: 'id', op: 'id', dtype: 'text', size: 'number', 'min?': 'number', 'max?': 'number', 'mean?': 'number', nan: 'number',
    inf: 'number', zero: 'number', hash: 'text',
  },
} as const satisfies Record<string, Record<string, Form>>;

export type TableName = keyof typeof TABLES;
type Plain<K> = K extends `${infer Name}??` ? Name : K extends `${infer Name}?` ? Name : K;
export type Table<T extends TableName> = { rows: number } & {
  [K in keyof (typeof TABLES)[T] as Plain<K>]: (typeof TABLES)[T][K] extends Form ? FormTypes[(typeof TABLES)[T][K]] : never;
};

/** A table without rows. */
export function emptyTable<T extends TableName>(name: T): Table<T> {
  const text = () => ({ codes: new Int32Array(0), words: [] });
  const make: Record<Form, () => unknown> = {
    id: () => new Float64Array(0), number: () => new Float64Array(0), int: () => new Int32Array(0), bool: () => new Uint8Array(0), text,
    lazy: () => ({ bytes: new Uint8Array(0), offsets: new Float64Array(1) }), ids: () => ({ offsets: new Uint32Array(1), values: new Float64Array(0) }),
    texts: () => ({ ...text(), offsets: new Uint32Array(1) }), nested: () => ({ offsets: new Uint32Array(1), inner: new Uint32Array(1), values: new Float64Array(0) }),
  };
  const columns = Object.entries(TABLES[name]).map(([key, form]) => [key.replaceAll('?', ''), make[form]()]);
  return { rows: 0, ...Object.fromEntries(columns) } as Table<T>;
}

const decoder = new TextDecoder();

export function word(text: Text, row: number): string {
  const code = text.codes[row] ?? -1;
  return code < 0 ? '' : (text.words[code] ?? '');
}

export function lazyWord(text: LazyText, row: number): string {
  return decoder.decode(text.bytes.subarray(text.offsets[row]!, text.offsets[row + 1]!));
}

/** The values of one row. */
export function list(lists: Lists, row: number): Float64Array {
  return lists.values.subarray(lists.offsets[row]!, lists.offsets[row + 1]!);
}

/** The lists of one row. */
export function nested(lists: Nested, row: number): number[][] {
  const out: number[][] = [];
  for (let i = lists.offsets[row]!; i < lists.offsets[row + 1]!; i++) out.push([...lists.values.subarray(lists.inner[i]!, lists.inner[i + 1]!)]);
  return out;
}

export function words(lists: TextLists, row: number): string[] {
  const out: string[] = [];
  for (let i = lists.offsets[row]!; i < lists.offsets[row + 1]!; i++) out.push(lists.words[lists.codes[i]!] ?? '');
  return out;
}
