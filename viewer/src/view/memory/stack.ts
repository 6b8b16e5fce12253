// Gives each buffer a place of its own: a range of bytes that nothing else has during its life, as low as it goes.

import type { Life } from '../../trace/model';

export interface Stack {
  /** First byte of each life. */
  offset: Float64Array;
  height: number;
}

export function stack(lives: Life[]): Stack {
  const offset = new Float64Array(lives.length);
  const byStart = lives.map((_, i) => i).sort((a, b) => lives[a]!.start - lives[b]!.start || a - b);
  const byEnd = lives.map((_, i) => i).sort((a, b) => lives[a]!.end - lives[b]!.end || a - b);
  // Taken ranges, ascending.
  const taken: { from: number; to: number; life: number }[] = [];
  let [ended, height] = [0, 0];
  const find = (from: number) => {
    let [low, high] = [0, taken.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (taken[middle]!.from < from) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  for (const row of byStart) {
    const life = lives[row]!;
    while (ended < byEnd.length && lives[byEnd[ended]!]!.end <= life.start) {
      const gone = byEnd[ended++]!;
      for (let i = find(offset[gone]!); i < taken.length && taken[i]!.from === offset[gone]; i++) {
        if (taken[i]!.life === gone) {
          taken.splice(i, 1);
          break;
        }
      }
    }
    let [at, i] = [0, 0];
    for (; i < taken.length && taken[i]!.from - at < life.bytes; i++) at = taken[i]!.to;
    offset[row] = at;
    taken.splice(i, 0, { from: at, to: at + life.bytes, life: row });
    height = Math.max(height, at + life.bytes);
  }
  return { offset, height };
}

/** The moment of the largest active memory, from the lives themselves. */
export function peakTime(lives: Life[]): number {
  const events = lives.flatMap((life) => [{ time: life.start, by: life.bytes }, ...(life.after ? [] : [{ time: life.end, by: -life.bytes }])]);
  events.sort((a, b) => a.time - b.time || a.by - b.by);
  let [now, most, when] = [0, -1, 0];
  for (const event of events) {
    now += event.by;
    if (now > most) [most, when] = [now, event.time];
  }
  return when;
}
