// From memory events to the life of each buffer: from allocate or reuse until free.

import type { Table } from './columns';
import { word } from './columns';
import type { IdIndex } from './ids';
import type { Life } from './model';

export function buildLives(memory: Table<'memory'>, ops: Table<'ops'>, arrays: IdIndex, begin: number, end: number) {
  const lives: Life[] = [];
  const open = new Map<number, number>();
  const devices = memory.device.words.length;
  for (let row = 0; row < memory.rows; row++) {
    const [event, buffer, time] = [word(memory.event, row), memory.buffer[row]!, memory.time_ns[row]!];
    if (event === 'evict') continue;
    // Buffer numbers count per device.
    const key = buffer * devices + memory.device.codes[row]!;
    const op = memory.op[row]! < 0 ? -1 : arrays.row(memory.op[row]!);
    const known = open.get(key);
    if (event === 'free') {
      open.delete(key);
      if (known !== undefined) {
        lives[known]!.end = time;
        lives[known]!.after = false;
      } else {
        lives.push({ buffer, op, bytes: memory.bytes[row]!, start: begin, end: time, before: true, after: false, device: word(memory.device, row), event: 'existed before' });
      }
    } else {
      if (known !== undefined) lives[known]!.end = time;
      open.set(key, lives.length);
      lives.push({ buffer, op, bytes: memory.bytes[row]!, start: time, end, before: false, after: true, device: word(memory.device, row), event });
    }
  }
  return { lives, lifeOfOp: lifeOfOps(lives, ops) };
}

/** The life that holds each operation's result: made for it, or shared by a view of it. */
function lifeOfOps(lives: Life[], ops: Table<'ops'>): Int32Array {
  const lifeOfOp = new Int32Array(ops.rows).fill(-1);
  const byBuffer = new Map<number, number>();
  lives.forEach((life, row) => {
    if (life.op >= 0 && lifeOfOp[life.op]! < 0) lifeOfOp[life.op] = row;
    byBuffer.set(life.buffer, row);
  });
  for (let row = 0; row < ops.rows; row++) {
    if (lifeOfOp[row]! < 0 && ops.buffer[row]! >= 0) lifeOfOp[row] = byBuffer.get(ops.buffer[row]!) ?? -1;
  }
  return lifeOfOp;
}
