// Dependencies: what needs what. Streams are lanes, arrays are edges, and a region opens into what it holds.

import { effect } from '@preact/signals-core';
import { html, nothing, render } from 'lit-html';
import { theme } from '../../colour';
import * as f from '../../format';
import { focus, found, select } from '../../state';
import { word } from '../../trace/columns';
import { inWorker } from '../../trace/open';
import type { Trace } from '../../trace/model';
import { Surface } from '../../ui/canvas';
import { follow } from '../../ui/gesture';
import type { View } from '../../ui/shell';
import { showTip } from '../../ui/tooltip';
import { Minimap } from './minimap';
import { type Camera, drawGraph, type GraphScene, visible } from './draw';
import { buildGraph, FLAG, type Level, type Nodes, type Only } from './graph';
import { adjacency, type Layout, NODE_HEIGHT, NODE_WIDTH } from './layout';

const LEVELS: Level[] = ['regions', 'launches', 'operations'];
interface Place {
  level: Level;
  scope: number;
  camera: Camera | null;
  only: Only | null;
}
const placesOf = new WeakMap<Trace, Place>();

function firstPlace(t: Trace): Place {
  const level = t.ops.rows <= 4000 || t.regions.length === 0 ? 'operations' : 'regions';
  return { level, scope: -1, camera: null, only: null };
}

function longEdges(nodes: Nodes, layout: Layout): Int32Array {
  const rows: number[] = [];
  for (let e = 0; e < nodes.from.length && rows.length < 4000; e++) if (Math.abs(layout.y[nodes.to[e]!]! - layout.y[nodes.from[e]!]!) > 700) rows.push(e);
  return Int32Array.from(rows);
}

export const dependencies: View = {
  panel: true,
  analysed: true,
  open(host, t) {
    let place = placesOf.get(t) ?? firstPlace(t);
    let scene: GraphScene | null = null;
    let closed = false;
    let run = 0;
    let note = '';
    const minimap = new Minimap((x, y) => goTo(x, y));
    const bar = document.createElement('div');
    bar.className = 'tools';
    const area = document.createElement('div');
    area.className = 'surface';
    host.append(bar, area);
    area.append(minimap.canvas);
    const surface = new Surface(area, (s) => {
      if (!scene) return;
      drawGraph(s, scene);
      minimap.draw(scene, s.width, s.height);
    }, 'Graph of operations and the arrays between them');
    (host as HTMLElement & { surface?: Surface }).surface = surface;
    const { canvas } = surface;
    const redraw = () => surface.draw();
    const goTo = (x: number, y: number) => {
      if (!scene) return;
      scene.camera.x = x - surface.width / scene.camera.scale / 2;
      scene.camera.y = y - surface.height / scene.camera.scale / 2;
      redraw();
    };

    const way = (name: Only['way']) => {
      const { op } = focus.peek();
      const on = place.only?.way === name;
      const level = place.level === 'regions' ? 'operations' : place.level;
      if (on) void rebuild({ ...place, only: null, camera: null });
      else if (op >= 0) void rebuild({ level, scope: -1, camera: null, only: { op, way: name } });
    };
    const tools = () => {
      const path: number[] = [];
      for (let at = place.scope; at >= 0; at = t.regions[at]!.up) path.unshift(at);
      render(html`
        <span class="group" role="group" aria-label="Level of detail">${LEVELS.map((level) => html`<button aria-pressed=${String(level === place.level)} ?disabled=${level === 'regions' && t.regions.length === 0}
          @click=${() => rebuild({ ...place, level, camera: null })}>${level[0]!.toUpperCase() + level.slice(1)}</button>`)}</span>
        <span class="group" role="group" aria-label="Part of the graph">${(['ancestors', 'descendants'] as const).map((name) => html`<button aria-pressed=${String(place.only?.way === name)} ?disabled=${!place.only && focus.peek().op < 0}
          title=${name === 'ancestors' ? 'Only what the selection was made from' : 'Only what was made from the selection'} @click=${() => way(name)}>${name[0]!.toUpperCase() + name.slice(1)}</button>`)}</span>
        ${path.length > 0 ? html`<button class="link" @click=${() => rebuild({ level: 'regions', scope: -1, camera: null, only: null })}>Everything</button>` : nothing}
        ${path.map((region) => html`<span class="muted">›</span><button class="link" @click=${() => enter(region)}>${t.regions[region]!.name}</button>`)}
        <span class="legend"><span>◆ waits for another stream</span><span>▭ dashed: view, nothing ran</span></span>
        <span class="spacer muted" id="graph-note">${note}</span>
        <button class="small" title="Everything in sight (Home)" @click=${fitAll}>Fit</button>`, bar);
    };
    const rebuild = async (next: Place) => {
      place = next;
      placesOf.set(t, place);
      const mine = ++run;
      note = 'Laying out…';
      tools();
      const nodes = buildGraph(t, place.level, place.scope, Math.max(0, focus.peek().op), place.only);
      const { count, lane, lanes, from, to } = nodes;
      const layout = await inWorker<Layout>({ task: 'layout', graph: { count, lane, lanes, from, to } });
      if (closed || mine !== run) return;
      scene = {
        t, nodes, layout, inputs: adjacency(count, to, from), outputs: adjacency(count, from, to), long: longEdges(nodes, layout),
        camera: place.camera ?? { x: 0, y: -30, scale: 1 }, selected: -1, hover: -1, matches: null,
      };
      note = `${f.plural(count, 'node')}, ${f.plural(from.length, 'edge')}, laid out in ${Math.round(layout.milliseconds)} ms`;
      if (nodes.omitted > 0) note = `Only ${f.count(count)} around the selection: ${f.count(nodes.omitted)} more are left out. ${note}`;
      area.dataset.layout = String(Math.round(layout.milliseconds));
      area.dataset.nodes = String(count);
      tools();
      if (!place.camera) home();
      place.camera = scene.camera;
      mark();
      search();
      redraw();
    };
    /** Everything if it stays readable, else the beginning, else what is selected. */
    const home = () => {
      if (!scene || surface.width === 0) return;
      const { layout, camera } = scene;
      const whole = Math.min(surface.width / (layout.width + 60), surface.height / (layout.height + 60), 1.15);
      camera.scale = Math.max(whole, Math.min(0.9, surface.width / (layout.width + 60)), place.level === 'operations' ? 0.7 : 0.5);
      camera.x = layout.width / 2 - surface.width / camera.scale / 2;
      camera.y = -40 / camera.scale;
    };
    const fitAll = () => {
      if (!scene) return;
      const { layout, camera } = scene;
      camera.scale = Math.min(surface.width / (layout.width + 60), surface.height / (layout.height + 90), 1.15);
      camera.x = layout.width / 2 - surface.width / camera.scale / 2;
      camera.y = layout.height / 2 - surface.height / camera.scale / 2 - 10 / camera.scale;
      redraw();
    };
    const enter = (region: number) => {
      const level = t.regions[region]!.children.length > 0 ? 'regions' : 'operations';
      void rebuild({ level, scope: region, camera: null, only: null });
    };
    /** Selected node; it is brought into sight. */
    const mark = () => {
      if (!scene) return;
      const { op } = focus.peek();
      const before = scene.selected;
      scene.selected = op < 0 ? -1 : scene.nodes.nodeOfOp[op]!;
      if (scene.selected >= 0 && scene.selected !== before) reveal(scene.selected);
      redraw();
    };
    const reveal = (node: number) => {
      if (!scene) return;
      const { camera: k, layout } = scene;
      const [x, y] = [(layout.x[node]! - k.x) * k.scale, (layout.y[node]! - k.y) * k.scale];
      if (k.scale < 0.5) k.scale = 0.8;
      else if (x > 90 && x < surface.width - 90 && y > 40 && y < surface.height - 60) return;
      k.x = layout.x[node]! - surface.width / k.scale / 2;
      k.y = layout.y[node]! - surface.height / k.scale / 2;
    };
    const search = () => {
      if (!scene) return;
      const hits = found.peek();
      scene.matches = null;
      if (hits) {
        scene.matches = new Uint8Array(scene.nodes.count);
        for (const op of hits.opRows) if (scene.nodes.nodeOfOp[op]! >= 0) scene.matches[scene.nodes.nodeOfOp[op]!] = 1;
      }
      redraw();
    };
    const nodeAt = (event: MouseEvent): number => {
      if (!scene) return -1;
      const { camera: k, layout } = scene;
      const [px, py] = surface.at(event);
      const [x, y] = [px / k.scale + k.x, py / k.scale + k.y];
      const [from, to] = visible(scene, y, y);
      for (let i = from; i < to; i++) {
        const node = layout.order[i]!;
        if (Math.abs(layout.x[node]! - x) <= NODE_WIDTH / 2 && y >= layout.y[node]! && y <= layout.y[node]! + NODE_HEIGHT) return node;
      }
      return -1;
    };
    const pick = (node: number) => {
      if (!scene || node < 0) return select('op', -1);
      const { level, row } = scene.nodes;
      if (level === 'regions') {
        scene.selected = node;
        reveal(node);
        redraw();
      } else if (level === 'operations') select('op', row[node]!);
      else if (level === 'launches') row[node]! >= 0 ? select('launch', row[node]!) : select('op', -1 - row[node]!);
    };
    const open = (node: number) => {
      if (!scene || node < 0) return;
      const { level, row } = scene.nodes;
      if (level === 'regions') row[node]! >= 0 ? enter(row[node]!) : void rebuild({ ...place, level: 'operations', camera: null });
      else if (level === 'launches') void rebuild({ ...place, level: 'operations', camera: null });
    };
    const zoom = (factor: number, x: number, y: number) => {
      if (!scene) return;
      const { camera: k } = scene;
      const scale = Math.max(0.002, Math.min(3, k.scale * factor));
      k.x += x / k.scale - x / scale;
      k.y += y / k.scale - y / scale;
      k.scale = scale;
      redraw();
    };
    const move = (x: number, y: number) => {
      if (!scene) return;
      scene.camera.x += x / scene.camera.scale;
      scene.camera.y += y / scene.camera.scale;
      redraw();
    };
    const step = (key: string) => {
      if (!scene) return;
      const { nodes, layout, inputs, outputs, selected } = scene;
      if (selected < 0) return pick(layout.order[visible(scene, scene.camera.y + 40 / scene.camera.scale, Infinity)[0]] ?? -1);
      if (key === 'ArrowUp' && inputs.offsets[selected + 1]! > inputs.offsets[selected]!) pick(inputs.values[inputs.offsets[selected]!]!);
      else if (key === 'ArrowDown' && outputs.offsets[selected + 1]! > outputs.offsets[selected]!) pick(outputs.values[outputs.offsets[selected]!]!);
      else if (key === 'ArrowLeft' || key === 'ArrowRight') {
        const next = layout.order[layout.order.indexOf(selected) + (key === 'ArrowLeft' ? -1 : 1)];
        if (next !== undefined && nodes.count > 0) pick(next);
      }
    };

    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      if (event.shiftKey || event.deltaX) move(event.deltaX || event.deltaY, 0);
      else zoom(Math.exp(-Math.max(-1, Math.min(1, event.deltaY * 0.0022))), ...surface.at(event));
    }, { passive: false });
    follow(canvas, {
      pan: (dx, dy) => move(-dx, -dy),
      pinch: zoom,
      tap: (event) => pick(nodeAt(event)),
      hover(event) {
        const node = event ? nodeAt(event) : -1;
        if (scene && node !== scene.hover) {
          scene.hover = node;
          redraw();
        }
        showTip(node < 0 || !scene || !event ? null : tip(t, scene.nodes, node), event?.clientX ?? 0, event?.clientY ?? 0);
      },
    });
    canvas.onmouseleave = () => showTip(null, 0, 0);
    canvas.ondblclick = (event) => open(nodeAt(event));
    canvas.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const [x, y] = [surface.width / 2, surface.height / 2];
      const key = event.key.toLowerCase();
      if (key === 'w') zoom(1.35, x, y);
      else if (key === 's') zoom(1 / 1.35, x, y);
      else if (key === 'a') move(-x / 3, 0);
      else if (key === 'd') move(x / 3, 0);
      else if (key === 'pagedown') move(0, y);
      else if (key === 'pageup') move(0, -y);
      else if (key === 'home') fitAll();
      else if (key === 'f' && scene && scene.selected >= 0) {
        scene.camera.scale = 1;
        scene.camera.x = scene.layout.x[scene.selected]! - x;
        scene.camera.y = scene.layout.y[scene.selected]! - y;
        redraw();
      } else if (key === 'enter' && scene) open(scene.selected);
      else if (key.startsWith('arrow')) step(event.key);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    const stops = [
      effect(() => {
        theme.value;
        redraw();
      }),
      effect(() => {
        focus.value;
        mark();
        tools();
      }),
      effect(() => {
        found.value;
        search();
      }),
    ];
    void rebuild(place);
    canvas.focus({ preventScroll: true });
    return () => {
      closed = true;
      stops.forEach((stop) => stop());
      showTip(null, 0, 0);
    };
  },
};

function tip(t: Trace, nodes: Nodes, node: number): { title: string; lines: [string, string][] } {
  const [flags, row] = [nodes.flags[node]!, nodes.row[node]!];
  const op = nodes.level === 'operations' ? row : -1;
  return {
    title: nodes.label(node),
    lines: [
      [nodes.level === 'operations' ? 'type' : 'holds', nodes.detail(node)],
      ['id', op >= 0 ? `#${t.ops.id[op]}` : ''], ['stream', nodes.laneNames[nodes.lane[node]!] ?? ''], ['call site', op >= 0 ? word(t.ops.call_site, op) : ''],
      ['note', [flags & FLAG.unused ? 'given up without being read' : '', flags & FLAG.fallback ? 'ran on the CPU instead' : '', flags & FLAG.view ? 'view, nothing ran' : '', flags & FLAG.result ? 'held at the end' : '', flags & FLAG.error ? 'failed' : ''].filter(Boolean).join(', ')],
      ['', nodes.level === 'regions' ? 'double click to look inside' : ''],
    ],
  };
}
