// Where the elements of an array come from: the trace itself, the page that carries it, or the server of `pellucid view`,
// which runs the trace again.

import { TraceError } from './trace/error';
import type { Trace } from './trace/model';
import { readTensor } from './trace/open';

export interface Elements {
  /** A file of NumPy. */
  bytes: Uint8Array<ArrayBuffer>;
  from: 'trace' | 'page' | 'replay';
  /** Whether a replay gave the recorded bits; null where nothing was recorded to compare with. */
  exact: boolean | null;
}

const MOST_BYTES = 600 * 1024 ** 2;
/** Files that the server can run again, by their number there. */
const served = new WeakMap<Blob, number>();
/** The file that came with the page. */
let embedded: Blob | null = null;

export function isServed(file: Blob, number: number): void {
  served.set(file, number);
  // The first question starts the replay; it runs while somebody looks around.
  void fetch(`./values/${number}`, { cache: 'no-store', credentials: 'omit', redirect: 'error' }).catch(() => {});
}

export function isEmbedded(file: Blob): void {
  embedded = file;
}

const scriptOf = (array: number): HTMLElement | null => document.getElementById(`values-${array}`);

/** Whether the elements of an array can be had, and from where. */
export function sourceOf(t: Trace, array: number): Elements['from'] | null {
  if (t.tensors.has(array)) return 'trace';
  if (t.file === embedded && scriptOf(array)) return 'page';
  return served.has(t.file) ? 'replay' : null;
}

/** Whether every array of a trace can be had. */
export const hasAll = (t: Trace): boolean => served.has(t.file) || t.file === embedded;

export async function elementsOf(t: Trace, array: number): Promise<Elements> {
  switch (sourceOf(t, array)) {
    case 'trace':
      return { bytes: await readTensor(t, array), from: 'trace', exact: null };
    case 'page': {
      const script = scriptOf(array)!;
      const text = (script.dataset.same ? scriptOf(Number(script.dataset.same)) : script)?.textContent ?? '';
      return { bytes: new Uint8Array(await new Blob(decodeBase64(text)).arrayBuffer()), from: 'page', exact: null };
    }
    case 'replay': {
      const reply = await fetch(`./values/${served.get(t.file)}/${array}.npy`, { cache: 'no-store', credentials: 'omit', redirect: 'error' });
      if (!reply.ok) throw new TraceError((await reply.text()).slice(0, 1000));
      if (Number(reply.headers.get('content-length')) > MOST_BYTES) throw new TraceError(`Array ${array} is too large for a page.`);
      const bits = reply.headers.get('x-pellucid-bits');
      return { bytes: new Uint8Array(await reply.arrayBuffer()), from: 'replay', exact: bits === 'same' ? true : bits === 'other' ? false : null };
    }
    default:
      throw new TraceError(`The data of array ${array} is not in the trace.`);
  }
}

/** In pieces, so that a long text needs no second copy as one string. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer>[] {
  const clean = /\s/.test(text) ? text.replace(/\s+/g, '') : text;
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < clean.length; at += 4 << 20) parts.push(Uint8Array.from(atob(clean.slice(at, at + (4 << 20))), (c) => c.charCodeAt(0)));
  return parts;
}
