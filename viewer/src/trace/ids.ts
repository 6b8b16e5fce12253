// Finds the row of an id. Ids are counters, so a plain array serves nearly always.

export class IdIndex {
  private dense: Int32Array | null = null;
  private base = 0;
  private sparse: Map<number, number> | null = null;
  /** The first id that occurs twice, if one does. */
  duplicate: number | null = null;

  constructor(ids: Float64Array, rowOf: (position: number) => number = (i) => i) {
    let [low, high] = [Infinity, -Infinity];
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i]!;
      if (id < low) low = id;
      if (id > high) high = id;
    }
    this.base = low;
    if (ids.length > 0 && high - low < ids.length * 16 + 65_536) {
      const dense = (this.dense = new Int32Array(high - low + 1).fill(-1));
      for (let i = 0; i < ids.length; i++) {
        const at = ids[i]! - low;
        if (dense[at]! >= 0) this.duplicate ??= ids[i]!;
        else dense[at] = rowOf(i);
      }
    } else {
      const sparse = (this.sparse = new Map());
      for (let i = 0; i < ids.length; i++) {
        if (sparse.has(ids[i]!)) this.duplicate ??= ids[i]!;
        else sparse.set(ids[i]!, rowOf(i));
      }
    }
  }

  /** The row, or -1. */
  row(id: number): number {
    if (this.dense) return this.dense[id - this.base] ?? -1;
    return this.sparse?.get(id) ?? -1;
  }
}
