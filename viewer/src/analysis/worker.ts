// Runs the analysis of pellucid-trace beside the page. The crate asks for pieces of the file when it needs them, so that
// no second copy of it lies in memory; when the answers are there, the worker and all it holds are given up.

export interface Request {
  module: WebAssembly.Module;
  files: Blob[];
  /** Each task is a function of the module. */
  tasks: ('analyse' | 'marks' | 'diff')[];
}
export type Reply = { answers: unknown[] } | { error: string };

interface Exports {
  memory: WebAssembly.Memory;
  open(slot: number, size: number): number;
  analyse(slot: number): number;
  marks(slot: number): number;
  diff(): number;
  answer(): number;
  answer_length(): number;
}

/** Small reads come from pieces of this size. */
const PIECE = 1 << 20;

/** Reads a file synchronously, which only workers may do. */
class Source {
  private reader = new FileReaderSync();
  private from = 0;
  private piece: Uint8Array = new Uint8Array(0);
  constructor(private file: Blob) {}

  read(offset: number, target: Uint8Array): number {
    if (target.length >= PIECE) {
      target.set(this.bytes(offset, offset + target.length));
      return target.length;
    }
    if (offset < this.from || offset + target.length > this.from + this.piece.length) {
      this.from = offset;
      this.piece = this.bytes(offset, offset + PIECE);
    }
    const found = this.piece.subarray(offset - this.from, offset - this.from + target.length);
    target.set(found);
    return found.length;
  }

  private bytes(from: number, to: number): Uint8Array {
    return new Uint8Array(this.reader.readAsArrayBuffer(this.file.slice(from, to)));
  }
}

async function answer({ module, files, tasks }: Request): Promise<unknown[]> {
  const sources = files.map((file) => new Source(file));
  const imports: WebAssembly.Imports = { page: { read: (slot: number, offset: number, target: number, length: number) => sources[slot]!.read(offset, new Uint8Array(crate.memory.buffer, target >>> 0, length >>> 0)) } };
  // A library of the crate asks for random numbers in ways that are never used here.
  for (const { module: name, name: item, kind } of WebAssembly.Module.imports(module)) {
    if (kind === 'function' && name !== 'page') (imports[name] ??= {})[item] = () => { throw new Error(`${item} is not offered`); };
  }
  const instance = await WebAssembly.instantiate(module, imports);
  const crate = instance.exports as unknown as Exports;
  const ask = (good: number): string => {
    const text = new TextDecoder().decode(new Uint8Array(crate.memory.buffer, crate.answer() >>> 0, crate.answer_length() >>> 0));
    if (!good) throw new Error(text);
    return text;
  };
  files.forEach((file, slot) => ask(crate.open(slot, file.size)));
  return tasks.map((task): unknown => JSON.parse(ask(task === 'diff' ? crate.diff() : crate[task](0))));
}

self.onmessage = async ({ data }: MessageEvent<Request>) => {
  const reply: Reply = await answer(data).then(
    (answers) => ({ answers }),
    (error: unknown) => ({ error: error instanceof WebAssembly.RuntimeError ? 'it does not fit into the memory of a page' : error instanceof Error ? error.message : String(error) }),
  );
  self.postMessage(reply);
};
