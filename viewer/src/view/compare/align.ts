// Finds which operations of two traces correspond: the longest common sequence of equal signatures, as long as the
// two are similar, else a quick walk that looks a little ahead.

import { dtypesOf, shapesOf, type Trace } from '../../trace/model';
import { word } from '../../trace/columns';

/** Different operations beyond this are not searched for the best match. */
const MAX_DIFFERENCE = 1500;
const LOOK_AHEAD = 4000;
export const MAX_OPS = 300_000;

/** What makes two operations the same: name, shapes and types, not where they stand. */
function signatures(t: Trace, known: Map<string, number>): Int32Array {
  return Int32Array.from({ length: t.ops.rows }, (_, op) => {
    const text = `${word(t.ops.name, op)}|${shapesOf(t, op).join(';')}|${dtypesOf(t, op).join()}`;
    let code = known.get(text);
    if (code === undefined) known.set(text, (code = known.size));
    return code;
  });
}

/** For each operation of the first trace its counterpart in the second, or -1. */
export function align(a: Trace, b: Trace): Int32Array {
  const known = new Map<string, number>();
  const [x, y] = [signatures(a, known), signatures(b, known)];
  const match = new Int32Array(x.length).fill(-1);
  let [start, endX, endY] = [0, x.length, y.length];
  while (start < endX && start < endY && x[start] === y[start]) match[start] = start++;
  while (endX > start && endY > start && x[endX - 1] === y[endY - 1]) match[--endX] = --endY;
  const [mx, my] = [x.subarray(start, endX), y.subarray(start, endY)];
  const middle = shortestEdit(mx, my) ?? walk(mx, my);
  for (const [i, j] of middle) match[start + i] = start + j;
  return match;
}

/** Myers' algorithm: common elements of the shortest edit, or null if it is too long. */
function shortestEdit(x: Int32Array, y: Int32Array): [number, number][] | null {
  const [n, m] = [x.length, y.length];
  const limit = Math.min(n + m, MAX_DIFFERENCE);
  const reach = new Int32Array(2 * limit + 3);
  const steps: Int32Array[] = [];
  for (let d = 0; d <= limit; d++) {
    for (let k = -d; k <= d; k += 2) {
      const at = k + limit + 1;
      let i = k === -d || (k !== d && reach[at - 1]! < reach[at + 1]!) ? reach[at + 1]! : reach[at - 1]! + 1;
      while (i < n && i - k < m && x[i] === y[i - k]) i++;
      reach[at] = i;
      if (i >= n && i - k >= m) return backtrack(steps, d, k, limit, n, m);
    }
    steps.push(reach.slice(limit + 1 - d - 1, limit + 1 + d + 2));
  }
  return null;
}

function backtrack(steps: Int32Array[], d: number, k: number, _limit: number, n: number, m: number): [number, number][] {
  const pairs: [number, number][] = [];
  let [i, j] = [n, m];
  for (; d > 0; d--) {
    // `steps[d - 1]` holds the reach of diagonals -(d-1)-1 … (d-1)+1.
    const before = steps[d - 1]!;
    const reach = (diagonal: number) => before[diagonal + d]!;
    const down = k === -d || (k !== d && reach(k - 1) < reach(k + 1));
    const next = down ? k + 1 : k - 1;
    const [pi, pj] = [reach(next), reach(next) - next];
    while (i > pi && j > pj && i > (down ? pi : pi + 1) && j > (down ? pj + 1 : pj)) pairs.push([--i, --j]);
    [i, j, k] = [pi, pj, next];
  }
  while (i > 0 && j > 0) pairs.push([--i, --j]);
  return pairs;
}

function walk(x: Int32Array, y: Int32Array): [number, number][] {
  const places = new Map<number, number[]>();
  y.forEach((code, j) => (places.get(code) ?? places.set(code, []).get(code)!).push(j));
  const next = new Map<number, number>();
  const pairs: [number, number][] = [];
  let last = -1;
  x.forEach((code, i) => {
    const list = places.get(code);
    if (!list) return;
    let p = next.get(code) ?? 0;
    while (p < list.length && list[p]! <= last) p++;
    next.set(code, p);
    if (p < list.length && list[p]! - last < LOOK_AHEAD) {
      last = list[p]!;
      pairs.push([i, last]);
    }
  });
  return pairs;
}
