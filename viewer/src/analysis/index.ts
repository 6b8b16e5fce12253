// Asks pellucid-trace, compiled to WebAssembly, for what it knows about traces: the same figures that the command prints.

import packed from 'virtual:analysis';
import { TraceError } from '../trace/error';
import type { Analysis, Diff, Marks } from './types';
import type { Reply, Request } from './worker';
import AnalysisWorker from './worker?worker&inline';

/** A million launches take seconds; what takes minutes has gone astray. */
const PATIENCE = 180_000;
let compiled: Promise<WebAssembly.Module> | null = null;

function module(): Promise<WebAssembly.Module> {
  compiled ??= (async () => {
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
  })();
  return compiled;
}

async function ask(files: Blob[], tasks: Request['tasks']): Promise<unknown[]> {
  const request: Request = { module: await module(), files, tasks };
  return new Promise((resolve, reject) => {
    const worker = new AnalysisWorker();
    const end = (action: () => void) => {
      clearTimeout(watch);
      worker.terminate();
      action();
    };
    const refuse = (why: string) => end(() => reject(new TraceError(`The trace cannot be analysed: ${why}.`, '`pellucid summary` and `pellucid diff` may still do it.')));
    const watch = setTimeout(() => refuse('it takes too long'), PATIENCE);
    worker.onmessage = ({ data }: MessageEvent<Reply>) => ('error' in data ? refuse(data.error) : end(() => resolve(data.answers)));
    worker.onerror = (event) => refuse(event.message || 'out of memory');
    worker.postMessage(request);
  });
}

export async function analyse(file: Blob): Promise<{ analysis: Analysis; marks: Marks }> {
  const [analysis, marks] = await ask([file], ['analyse', 'marks']);
  return { analysis: analysis as Analysis, marks: marks as Marks };
}

export async function compareTraces(a: Blob, b: Blob): Promise<Diff> {
  return (await ask([a, b], ['diff']))[0] as Diff;
}
