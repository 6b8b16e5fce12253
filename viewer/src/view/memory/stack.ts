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
  // `full` ranges lie one after the other without a gap.
  let [ended, height, full] = [0, 0, 0];
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
          full = Math.min(full, i);
          break;
        }
      }
    }
    let [at, i] = [full === 0 ? 0 : taken[full - 1]!.to, full];
    const first = i;
    for (; i < taken.length && taken[i]!.from - at < life.bytes; i++) at = taken[i]!.to;
    offset[row] = at;
    taken.splice(i, 0, { from: at, to: at + life.bytes, life: row });
    if (i === first) full = i + 1;
    height = Math.max(height, at + life.bytes);
  }
  return { offset, height };
}
