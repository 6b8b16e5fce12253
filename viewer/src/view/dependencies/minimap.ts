// The whole graph in a corner, with a frame around what is in sight; a click or a drag goes there.

import { colour, kindColour } from '../../colour';
import type { GraphScene } from './draw';

const [WIDTH, HEIGHT] = [150, 190];
/** More points than this are not told apart at that size. */
const MAX_POINTS = 6000;

export class Minimap {
  readonly canvas = document.createElement('canvas');

  constructor(private go: (x: number, y: number) => void) {
    const ratio = devicePixelRatio || 1;
    this.canvas.className = 'minimap';
    this.canvas.width = WIDTH * ratio;
    this.canvas.height = HEIGHT * ratio;
    this.canvas.setAttribute('aria-hidden', 'true');
    this.canvas.getContext('2d')!.setTransform(ratio, 0, 0, ratio, 0, 0);
    const follow = (event: PointerEvent) => {
      if (!event.buttons || !this.scene) return;
      const box = this.canvas.getBoundingClientRect();
      const { scale, left, top } = this.place(this.scene);
      this.go((event.clientX - box.left - left) / scale, (event.clientY - box.top - top) / scale);
    };
    this.canvas.onpointerdown = (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      follow(event);
    };
    this.canvas.onpointermove = follow;
  }

  private scene: GraphScene | null = null;

  private place({ layout }: GraphScene) {
    const scale = Math.min((WIDTH - 8) / (layout.width + 1), (HEIGHT - 8) / (layout.height + 1));
    return { scale, left: (WIDTH - layout.width * scale) / 2, top: (HEIGHT - layout.height * scale) / 2 };
  }

  draw(scene: GraphScene, width: number, height: number): void {
    this.scene = scene;
    const { layout, nodes, camera: k, selected } = scene;
    const whole = layout.width * k.scale <= width && layout.height * k.scale <= height;
    this.canvas.hidden = whole || nodes.count < 8;
    if (this.canvas.hidden) return;
    const c = this.canvas.getContext('2d')!;
    const { scale, left, top } = this.place(scene);
    c.fillStyle = colour('raised');
    c.fillRect(0, 0, WIDTH, HEIGHT);
    const stride = Math.max(1, Math.floor(nodes.count / MAX_POINTS));
    const [w, h] = [Math.max(1.5, 120 * scale), Math.max(1, 24 * scale)];
    const dot = (node: number) => c.fillRect(left + layout.x[node]! * scale - w / 2, top + layout.y[node]! * scale, w, h);
    for (let node = 0; node < nodes.count; node += stride) {
      c.fillStyle = nodes.odd[node] ? colour('nan') : kindColour(nodes.kind[node]!);
      dot(node);
    }
    if (selected >= 0) {
      c.fillStyle = colour('select');
      dot(selected);
    }
    c.strokeStyle = colour('accent');
    c.lineWidth = 1.5;
    c.strokeRect(left + k.x * scale, top + k.y * scale, (width / k.scale) * scale, (height / k.scale) * scale);
  }
}
