// A layered layout: depth downwards, one lane of columns for each stream, neighbours pulled together.
// Nodes come in an order in which producers stand before consumers; edges against it are not used for depth.

export interface Graph {
  count: number;
  /** Lane of each node, from 0. */
  lane: Int32Array;
  lanes: number;
  /** Edges, both arrays of the same length. */
  from: Int32Array;
  to: Int32Array;
}
export interface Layout {
  x: Float32Array<ArrayBuffer>;
  y: Float32Array<ArrayBuffer>;
  /** Nodes from top to bottom. */
  order: Int32Array;
  laneStart: Float32Array;
  laneEnd: Float32Array;
  width: number;
  height: number;
  milliseconds: number;
}

export const NODE_WIDTH = 168;
export const NODE_HEIGHT = 34;
const [STEP_X, STEP_Y, LANE_GAP] = [NODE_WIDTH + 28, NODE_HEIGHT + 46, 56];
/** A cell with more nodes than this is broken into several rows. */
const MAX_COLUMNS = 24;
const SWEEPS = 6;

/** For each node, its neighbours along the edges. */
export function adjacency(count: number, source: Int32Array, target: Int32Array): { offsets: Uint32Array; values: Int32Array; edges: Int32Array } {
  const offsets = new Uint32Array(count + 1);
  for (const node of source) offsets[node + 1]!++;
  for (let i = 0; i < count; i++) offsets[i + 1]! += offsets[i]!;
  const [values, edges, next] = [new Int32Array(source.length), new Int32Array(source.length), offsets.slice()];
  for (let e = 0; e < source.length; e++) {
    const at = next[source[e]!]!++;
    values[at] = target[e]!;
    edges[at] = e;
  }
  return { offsets, values, edges };
}

/** Longest path from the sources. What depends on nothing but sources, such as a view of one, then moves down to its first
 * reader, so that it does not stand far from where it is used. */
function depths({ count, from, to }: Graph): Int32Array {
  const depth = new Int32Array(count);
  const out = adjacency(count, from, to);
  // 0 depends on nothing, 1 reads one such node, 2 all others.
  const weight = new Uint8Array(count);
  for (let node = 0; node < count; node++) {
    for (let i = out.offsets[node]!; i < out.offsets[node + 1]!; i++) {
      const next = out.values[i]!;
      if (next <= node) continue;
      weight[next] = weight[node]! < 2 && weight[next] === 0 ? 1 : 2;
      if (depth[next]! <= depth[node]!) depth[next] = depth[node]! + 1;
    }
  }
  for (let node = count - 1; node >= 0; node--) {
    if (weight[node] === 2) continue;
    let first = Infinity;
    for (let i = out.offsets[node]!; i < out.offsets[node + 1]!; i++) if (out.values[i]! > node) first = Math.min(first, depth[out.values[i]!]!);
    if (Number.isFinite(first)) depth[node] = Math.max(0, first - 1);
  }
  return depth;
}

export function layout(graph: Graph): Layout {
  const began = performance.now();
  const { count, lane, lanes, from, to } = graph;
  const depth = depths(graph);
  let layers = 1;
  for (const d of depth) layers = Math.max(layers, d + 1);
  // Cells by layer, then lane.
  const cells = layers * lanes;
  const cellStart = new Uint32Array(cells + 1);
  for (let n = 0; n < count; n++) cellStart[depth[n]! * lanes + lane[n]! + 1]!++;
  for (let c = 0; c < cells; c++) cellStart[c + 1]! += cellStart[c]!;
  const order = new Int32Array(count);
  const next = cellStart.slice();
  for (let n = 0; n < count; n++) order[next[depth[n]! * lanes + lane[n]!]!++] = n;

  const laneColumns = new Int32Array(lanes).fill(1);
  const layerRows = new Int32Array(layers).fill(1);
  for (let c = 0; c < cells; c++) {
    const size = cellStart[c + 1]! - cellStart[c]!;
    const [l, s] = [Math.floor(c / lanes), c % lanes];
    laneColumns[s] = Math.max(laneColumns[s]!, Math.min(size, MAX_COLUMNS));
    layerRows[l] = Math.max(layerRows[l]!, Math.ceil(size / MAX_COLUMNS));
  }
  const [laneStart, laneEnd] = [new Float32Array(lanes), new Float32Array(lanes)];
  let width = 0;
  for (let s = 0; s < lanes; s++) {
    laneStart[s] = width;
    laneEnd[s] = width + laneColumns[s]! * STEP_X + 24;
    width = laneEnd[s]! + LANE_GAP;
  }
  const [x, y] = [new Float32Array(count), new Float32Array(count)];
  const place = (c: number, top: number) => {
    const [begin, size, s] = [cellStart[c]!, cellStart[c + 1]! - cellStart[c]!, c % lanes];
    const middle = (laneStart[s]! + laneEnd[s]!) / 2;
    for (let i = 0; i < size; i++) {
      const [row, column] = [Math.floor(i / MAX_COLUMNS), i % MAX_COLUMNS];
      const columns = Math.min(MAX_COLUMNS, size - row * MAX_COLUMNS);
      x[order[begin + i]!] = middle + (column - (columns - 1) / 2) * STEP_X;
      y[order[begin + i]!] = top + row * STEP_Y;
    }
  };
  const tops = new Float64Array(layers + 1);
  for (let l = 0; l < layers; l++) tops[l + 1] = tops[l]! + layerRows[l]! * STEP_Y;
  for (let c = 0; c < cells; c++) place(c, tops[Math.floor(c / lanes)]!);

  const [ups, downs] = [adjacency(count, to, from), adjacency(count, from, to)];
  const pull = new Float32Array(count);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const { offsets, values } = sweep % 2 === 0 ? ups : downs;
    for (let k = 0; k < cells; k++) {
      const c = sweep % 2 === 0 ? k : cells - 1 - k;
      const [begin, end] = [cellStart[c]!, cellStart[c + 1]!];
      if (end - begin < 2) continue;
      for (let i = begin; i < end; i++) {
        const node = order[i]!;
        const [a, b] = [offsets[node]!, offsets[node + 1]!];
        let sum = 0;
        for (let j = a; j < b; j++) sum += x[values[j]!]!;
        pull[node] = b > a ? sum / (b - a) : x[node]!;
      }
      order.subarray(begin, end).sort((p, q) => pull[p]! - pull[q]! || p - q);
      place(c, tops[Math.floor(c / lanes)]!);
    }
  }
  return { x, y, order, laneStart, laneEnd, width: Math.max(width - LANE_GAP, 1), height: tops[layers]!, milliseconds: performance.now() - began };
}
