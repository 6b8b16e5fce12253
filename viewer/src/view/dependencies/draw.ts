// Paints the part of the graph that is in sight, with as much detail as the zoom allows.

import { colour, kindColour } from '../../colour';
import { arrayType, type Trace } from '../../trace/model';
import { fit, type Surface } from '../../ui/canvas';
import { FLAG, type Nodes } from './graph';
import { type adjacency, type Layout, NODE_HEIGHT, NODE_WIDTH } from './layout';

export interface Camera {
  x: number;
  y: number;
  scale: number;
}
export interface GraphScene {
  t: Trace;
  nodes: Nodes;
  layout: Layout;
  inputs: ReturnType<typeof adjacency>;
  outputs: ReturnType<typeof adjacency>;
  /** Edges over many layers, drawn even when both ends are out of sight. */
  long: Int32Array;
  camera: Camera;
  selected: number;
  hover: number;
  matches: Uint8Array | null;
}

const LANE_HEAD = 26;
const [TEXT_ZOOM, BOX_ZOOM, TYPE_ZOOM] = [0.34, 0.09, 0.62];
const MAX_EDGES = 12_000;

/** Nodes between two heights, as a range of `layout.order`. */
export function visible({ layout }: GraphScene, top: number, bottom: number): [number, number] {
  const { order, y } = layout;
  const find = (value: number) => {
    let [low, high] = [0, order.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (y[order[middle]!]! < value) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [find(top - NODE_HEIGHT), find(bottom + NODE_HEIGHT)];
}

export function drawGraph({ context: c, width, height }: Surface, scene: GraphScene): void {
  const { camera: k, layout } = scene;
  c.save();
  c.translate(-k.x * k.scale, -k.y * k.scale);
  c.scale(k.scale, k.scale);
  const [left, top, right, bottom] = [k.x, k.y, k.x + width / k.scale, k.y + height / k.scale];
  for (let s = 0; s < layout.laneStart.length; s++) {
    c.fillStyle = colour('panel');
    c.fillRect(layout.laneStart[s]!, top, layout.laneEnd[s]! - layout.laneStart[s]!, bottom - top);
  }
  const [from, to] = visible(scene, top, bottom);
  edges(c, scene, from, to, [left, top, right, bottom]);
  if (k.scale < BOX_ZOOM) dots(c, scene, from, to, left, right);
  else for (let i = from; i < to; i++) {
    const node = layout.order[i]!;
    const x = layout.x[node]!;
    if (x + NODE_WIDTH > left && x - NODE_WIDTH < right) box(c, scene, node);
  }
  c.restore();
  heads(c, scene, width);
}

/** Far away, nodes are patches of colour; more than the eye can tell apart are skipped. */
function dots(c: CanvasRenderingContext2D, { nodes, layout, camera, matches }: GraphScene, from: number, to: number, left: number, right: number): void {
  const least = 1.2 / camera.scale;
  const [w, h] = [Math.max(NODE_WIDTH, least * 2), Math.max(NODE_HEIGHT, least)];
  const stride = Math.max(1, Math.floor((to - from) / 30_000));
  for (let i = from; i < to; i += stride) {
    const node = layout.order[i]!;
    const x = layout.x[node]!;
    if (x < left - w || x > right + w) continue;
    c.globalAlpha = matches && !matches[node] ? 0.15 : 1;
    c.fillStyle = kindColour(nodes.kind[node]!);
    c.fillRect(x - w / 2, layout.y[node]!, w, h);
  }
  c.globalAlpha = 1;
}

function edges(c: CanvasRenderingContext2D, scene: GraphScene, from: number, to: number, [left, top, right, bottom]: number[]): void {
  const { nodes, layout, inputs, outputs, camera, selected, long } = scene;
  const near = camera.scale >= TEXT_ZOOM;
  c.lineWidth = Math.max(1, 0.8 / camera.scale);
  const path = (edge: number) => {
    const [a, b] = [nodes.from[edge]!, nodes.to[edge]!];
    const [x0, y0, x1, y1] = [layout.x[a]!, layout.y[a]! + NODE_HEIGHT, layout.x[b]!, layout.y[b]!];
    c.moveTo(x0, y0);
    if (camera.scale < BOX_ZOOM) c.lineTo(x1, y1);
    else {
      const bend = Math.max(16, Math.min(90, Math.abs(y1 - y0) / 2));
      c.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
    }
  };
  const [plain, crossing, marked, odd]: number[][] = [[], [], [], []];
  const sort = (edge: number) => {
    const [a, b] = [nodes.from[edge]!, nodes.to[edge]!];
    if (nodes.odd[a] && nodes.odd[b]) odd!.push(edge);
    if (a === selected || b === selected) marked!.push(edge);
    else if (nodes.lane[a] !== nodes.lane[b] && !(nodes.flags[a]! & FLAG.input)) crossing!.push(edge);
    else plain!.push(edge);
  };
  const stride = Math.max(1, Math.floor((to - from) / MAX_EDGES));
  for (let i = from; i < to; i += stride) {
    const node = layout.order[i]!;
    if (layout.x[node]! < left! - 4000 || layout.x[node]! > right! + 4000) continue;
    for (let e = inputs.offsets[node]!; e < inputs.offsets[node + 1]!; e++) sort(inputs.edges[e]!);
    // Edges that leave to below the picture; all others are found at their lower end.
    for (let e = outputs.offsets[node]!; e < outputs.offsets[node + 1]!; e++) if (layout.y[outputs.values[e]!]! > bottom! + NODE_HEIGHT) sort(outputs.edges[e]!);
  }
  for (const edge of long) {
    const [a, b] = [layout.y[nodes.from[edge]!]!, layout.y[nodes.to[edge]!]!];
    if (a < top! - NODE_HEIGHT && b > bottom! + NODE_HEIGHT) sort(edge);
  }
  const stroke = (list: number[], name: string, width: number, dash: number[] = []) => {
    c.strokeStyle = colour(name);
    c.lineWidth = width / Math.min(1, camera.scale * 1.4);
    c.setLineDash(dash);
    c.beginPath();
    for (const edge of list) path(edge);
    c.stroke();
    c.setLineDash([]);
  };
  c.globalAlpha = near ? 0.75 : 0.5;
  stroke(plain!, 'muted', 1);
  c.globalAlpha = 1;
  stroke(crossing!, 'warn', 1.4, [7, 4]);
  stroke(marked!, 'accent', 2);
  stroke(odd!, 'nan', 2.6);
  if (near) for (const edge of crossing!) syncMark(c, scene, edge);
  // What is selected gets its label first; what would lie on another label gets none.
  const taken: Label[] = [];
  if (camera.scale >= TYPE_ZOOM && plain!.length + crossing!.length < 900) for (const edge of [...marked!, ...plain!, ...crossing!]) edgeType(c, scene, edge, taken);
  else if (near) for (const edge of marked!.slice(0, 60)) edgeType(c, scene, edge, taken);
}

/** A diamond where one stream waits for another. */
function syncMark(c: CanvasRenderingContext2D, { nodes, layout }: GraphScene, edge: number): void {
  const [x, y] = [layout.x[nodes.to[edge]!]!, layout.y[nodes.to[edge]!]! - 7];
  c.fillStyle = colour('warn');
  c.beginPath();
  c.moveTo(x, y - 6);
  c.lineTo(x + 5, y);
  c.lineTo(x, y + 6);
  c.lineTo(x - 5, y);
  c.fill();
}

interface Label {
  x: number;
  y: number;
  w: number;
}

/** The array that flows along an edge, beside its lower end. */
function edgeType(c: CanvasRenderingContext2D, { t, nodes, layout, selected }: GraphScene, edge: number, taken: Label[]): void {
  const [a, b] = [nodes.from[edge]!, nodes.to[edge]!];
  const [x0, y0, x1, y1] = [layout.x[a]!, layout.y[a]! + NODE_HEIGHT, layout.x[b]!, layout.y[b]!];
  const part = y1 - y0 > 200 ? 1 - 60 / (y1 - y0) : 0.56;
  const text = nodes.weight[edge]! > 1 ? `${nodes.weight[edge]} arrays` : arrayType(t, nodes.array[edge]!);
  c.font = '10px system-ui, sans-serif';
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  const shown = fit(c, text, NODE_WIDTH);
  const w = c.measureText(shown).width + 6;
  const [x, y] = [x0 + (x1 - x0) * part, y0 + (y1 - y0) * part];
  if (taken.some((other) => Math.abs(other.x - x) < (other.w + w) / 2 && Math.abs(other.y - y) < 13)) {
    c.textAlign = 'left';
    return;
  }
  taken.push({ x, y, w });
  c.globalAlpha = 0.85;
  c.fillStyle = colour('panel');
  c.fillRect(x - w / 2, y - 6, w, 12);
  c.globalAlpha = 1;
  c.fillStyle = colour(a === selected || b === selected ? 'accent' : 'muted');
  c.fillText(shown, x, y);
  c.textAlign = 'left';
}

function box(c: CanvasRenderingContext2D, scene: GraphScene, node: number): void {
  const { nodes, layout, camera, matches, selected, hover } = scene;
  const [x, y, flags] = [layout.x[node]! - NODE_WIDTH / 2, layout.y[node]!, nodes.flags[node]!];
  const round = flags & FLAG.input ? NODE_HEIGHT / 2 : flags & FLAG.group ? 9 : 5;
  c.globalAlpha = matches && !matches[node] ? 0.2 : 1;
  c.beginPath();
  c.roundRect(x, y, NODE_WIDTH, NODE_HEIGHT, round);
  c.fillStyle = colour('raised');
  c.fill();
  c.save();
  c.clip();
  c.fillStyle = kindColour(nodes.kind[node]!);
  if (camera.scale < TEXT_ZOOM) c.fillRect(x, y, NODE_WIDTH, NODE_HEIGHT);
  else c.fillRect(x, y, 6, NODE_HEIGHT);
  c.restore();
  const bad = flags & (FLAG.unused | FLAG.error);
  const odd = nodes.odd[node]!;
  if (odd === 2) {
    c.fillStyle = colour('bad-soft');
    c.fill();
  }
  c.strokeStyle = colour(node === selected ? 'accent' : odd ? 'nan' : bad ? 'bad' : flags & FLAG.fallback ? 'warn' : node === hover ? 'text' : 'line');
  c.lineWidth = (node === selected || odd === 2 ? 3 : odd || bad || flags & FLAG.fallback ? 1.8 : 1) / Math.min(1, camera.scale * 1.5);
  c.setLineDash(flags & FLAG.view ? [5, 3] : flags & FLAG.unused ? [9, 3] : []);
  c.stroke();
  c.setLineDash([]);
  if (flags & FLAG.result) {
    c.beginPath();
    c.roundRect(x - 3, y - 3, NODE_WIDTH + 6, NODE_HEIGHT + 6, round + 2);
    c.lineWidth = 1;
    c.strokeStyle = colour('good');
    c.stroke();
  }
  if (camera.scale >= TEXT_ZOOM) {
    const mark = flags & FLAG.error ? 'failed' : odd === 2 ? 'NaN' : flags & FLAG.unused ? 'unused' : flags & FLAG.fallback ? 'on CPU' : flags & FLAG.view ? 'view' : '';
    const room = NODE_WIDTH - 22 - (mark ? 40 : 0);
    c.textBaseline = 'middle';
    c.font = '600 12px system-ui, sans-serif';
    c.fillStyle = colour(flags & FLAG.view ? 'muted' : 'text');
    c.fillText(fit(c, nodes.label(node), room), x + 13, y + 11);
    c.font = '10.5px system-ui, sans-serif';
    c.fillStyle = colour('muted');
    c.fillText(fit(c, nodes.detail(node), NODE_WIDTH - 20), x + 13, y + 25);
    if (mark) {
      c.textAlign = 'right';
      c.fillStyle = colour(odd === 2 ? 'nan' : bad ? 'bad' : flags & FLAG.fallback ? 'warn' : 'muted');
      c.fillText(mark, x + NODE_WIDTH - 8, y + 11);
      c.textAlign = 'left';
    }
  }
  c.globalAlpha = 1;
}

/** The names of the lanes stay at the top. */
function heads(c: CanvasRenderingContext2D, { layout, nodes, camera }: GraphScene, width: number): void {
  c.fillStyle = colour('bg');
  c.globalAlpha = 0.92;
  c.fillRect(0, 0, width, LANE_HEAD);
  c.globalAlpha = 1;
  c.font = '600 12px system-ui, sans-serif';
  c.textBaseline = 'middle';
  for (let s = 0; s < layout.laneStart.length; s++) {
    const x0 = Math.max(0, (layout.laneStart[s]! - camera.x) * camera.scale);
    const x1 = Math.min(width, (layout.laneEnd[s]! - camera.x) * camera.scale);
    if (x1 - x0 < 20) continue;
    c.fillStyle = colour('muted');
    c.fillText(fit(c, nodes.laneNames[s] ?? '', x1 - x0 - 14), x0 + 8, LANE_HEAD / 2);
  }
}
