// The launches before and after a launch: whose results it reads, and who reads its results. Views run nothing and
// are looked through.

import { inputsOf, opsOfLaunch, readersOf, type Trace } from '../../trace/model';

const MAX = 48;

function walk(t: Trace, ops: number[], next: (op: number) => number[], own: number): number[] {
  const [found, seen] = [new Set<number>(), new Set<number>(ops)];
  const queue = [...ops];
  while (queue.length > 0 && found.size < MAX && seen.size < 5000) {
    for (const op of next(queue.pop()!)) {
      const launch = t.launchOfOp[op]!;
      if (launch >= 0 && launch !== own) found.add(launch);
      else if (!seen.has(op)) {
        seen.add(op);
        queue.push(op);
      }
    }
  }
  return [...found];
}

export interface Neighbours {
  producers: number[];
  readers: number[];
}

export function neighbours(t: Trace, launch: number, op: number): Neighbours {
  const ops = launch >= 0 ? opsOfLaunch(t, launch) : op >= 0 ? [op] : [];
  return { producers: walk(t, ops, (row) => inputsOf(t, row), launch), readers: walk(t, ops, (row) => readersOf(t, row), launch) };
}
