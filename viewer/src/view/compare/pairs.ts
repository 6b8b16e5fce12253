// Which operations of two traces correspond, from the runs of rows that the crate found.

import type { Diff } from '../../analysis/types';

export class Pairs {
  constructor(private runs: Diff['runs']) {}

  /** Whether anything corresponds; between strangers, what has no counterpart is nothing special. */
  get any(): boolean {
    return this.runs.length > 0;
  }

  /** Row in the second trace of a row of the first, or -1. */
  second(row: number): number {
    return this.other(row, 0, 1);
  }
  /** Row in the first trace of a row of the second, or -1. */
  first(row: number): number {
    return this.other(row, 1, 0);
  }

  /** Runs stand in their order in both traces. */
  private other(row: number, from: 0 | 1, to: 0 | 1): number {
    let [low, high] = [0, this.runs.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.runs[middle]![from] <= row) low = middle + 1;
      else high = middle;
    }
    const run = this.runs[low - 1];
    return run && row - run[from] < run[2] ? run[to] + row - run[from] : -1;
  }
}
