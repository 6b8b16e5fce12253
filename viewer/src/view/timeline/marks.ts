// What the analysis marks, seen from launches: where NaNs went, the longest chain, launches that took too long.

import type { Cause, Marks } from '../../analysis/types';
import type { Trace } from '../../trace/model';

/** What a launch has to do with NaN and infinity. */
export const ODD = { none: 0, passed: 1, made: 2 } as const;

export interface LaunchMarks {
  /** `ODD` of each launch. */
  odd: Uint8Array;
  /** Launches of the longest chain, in order, and the same as flags. */
  chain: number[];
  onChain: Uint8Array;
  slow: Map<number, Cause>;
  /** For waits that cost something, how much, by row of `sync`. */
  gains: Map<number, number>;
  /** Launches that made a NaN or infinity. */
  makers: number[];
  /** Number of odd launches before each position of each track. */
  oddSums: Uint32Array[];
}

export function launchMarks(t: Trace, marks: Marks | null): LaunchMarks {
  const [odd, onChain] = [new Uint8Array(t.launches.rows), new Uint8Array(t.launches.rows)];
  const makers: number[] = [];
  for (const op of marks?.passed_on ?? []) if (t.launchOfOp[op]! >= 0) odd[t.launchOfOp[op]!] = ODD.passed;
  for (const op of [...(marks?.among ?? []), ...(marks?.made ?? [])]) {
    const launch = t.launchOfOp[op] ?? -1;
    if (launch < 0 || odd[launch] === ODD.made) continue;
    odd[launch] = ODD.made;
    makers.push(launch);
  }
  const chain = (marks?.chain ?? []).filter((row) => row < t.launches.rows);
  for (const row of chain) onChain[row] = 1;
  const any = makers.length > 0 || (marks?.passed_on.length ?? 0) > 0;
  const oddSums = t.tracks.map(({ rows }) => {
    const sums = new Uint32Array(rows.length + 1);
    if (any) for (let i = 0; i < rows.length; i++) sums[i + 1] = sums[i]! + (odd[rows[i]!]! ? 1 : 0);
    return sums;
  });
  return { odd, chain, onChain, slow: new Map(marks?.outliers ?? []), gains: new Map((marks?.waits ?? []).map(([row, , gain]) => [row, gain])), makers, oddSums };
}
