// Runs beside the page: unpacks and decodes tables, and lays out graphs.

import { type Graph, layout } from '../view/dependencies/layout';
import { TableReader } from './arrow';
import type { TableName } from './columns';
import { explain, TraceError } from './error';
import { type Member, readMember } from './zip';

export type Request =
  | { task: 'table'; file: Blob; name: TableName; members: Member[]; limit: number }
  | { task: 'layout'; graph: Graph };
/** `alive` comes after each member, so that work on a large file is not taken for a hang. */
export type Reply = { alive: true } | { value: unknown } | { error: { message: string; hint: string } };

const send = self as unknown as { postMessage(reply: Reply, transfer: Transferable[]): void };

async function table(request: Extract<Request, { task: 'table' }>): Promise<{ table: unknown; buffers: ArrayBuffer[] }> {
  const reader = new TableReader(request.name);
  for (const member of request.members) {
    try {
      reader.add(member.name, await readMember(request.file, member, request.limit));
      send.postMessage({ alive: true }, []);
    } catch (error) {
      throw explain(error, member.name);
    }
  }
  return reader.done();
}

self.onmessage = async ({ data }: MessageEvent<Request>) => {
  try {
    if (data.task === 'table') {
      const { table: value, buffers } = await table(data);
      send.postMessage({ value }, buffers);
    } else {
      const value = layout(data.graph);
      send.postMessage({ value }, [value.x.buffer, value.y.buffer]);
    }
  } catch (error) {
    const { message, hint } = error instanceof TraceError ? error : explain(error, 'The trace');
    send.postMessage({ error: { message, hint } }, []);
  }
};
