// Roofline: how fast each kernel computes against how much it computes per byte, below what the device can do.

import { html, svg, type TemplateResult } from 'lit-html';
import { kindVariable } from '../../colour';
import * as f from '../../format';
import type { Trace } from '../../trace/model';
import { showTip } from '../../ui/tooltip';

const [W, H] = [560, 360];
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 14, 14, 40];

export function roofline(t: Trace, selected: number, pick: (kernel: number) => void): TemplateResult {
  const points = t.kernels.map((kernel, i) => ({ i, kernel, x: kernel.flops / kernel.bytes, y: (kernel.flops / kernel.time) * 1e9 })).filter((p) => p.x > 0 && p.y > 0 && Number.isFinite(p.x) && Number.isFinite(p.y));
  const wanted = selected >= 0 ? t.kernels[selected]!.device : '';
  const roofs = t.manifest.devices.filter((d) => d.roof && d.roof.bytesPerSecond > 0 && d.roof.flopsPerSecond > 0 && t.kernels.some((k) => k.device === d.device));
  if (points.length === 0) return html`<p class="muted empty-row">No kernel of this trace counts both operations and bytes.</p>`;
  const xs = points.map((p) => p.x).concat(roofs.map((d) => d.roof!.flopsPerSecond / d.roof!.bytesPerSecond));
  const ys = points.map((p) => p.y).concat(roofs.map((d) => d.roof!.flopsPerSecond));
  const span = (values: number[]) => [Math.floor(Math.log10(Math.min(...values)) - 0.15), Math.ceil(Math.log10(Math.max(...values)) + 0.15)] as const;
  const [[x0, x1], [y0, y1]] = [span(xs), span(ys)];
  const sx = (v: number) => LEFT + ((Math.log10(v) - x0) / (x1 - x0)) * (W - LEFT - RIGHT);
  const sy = (v: number) => H - BOTTOM - ((Math.log10(v) - y0) / (y1 - y0)) * (H - TOP - BOTTOM);
  const decades = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
  const most = Math.max(...points.map((p) => p.kernel.time));
  const tip = (event: MouseEvent, p: (typeof points)[number]) => showTip({
    title: p.kernel.name,
    lines: [['intensity', `${p.x.toPrecision(3)} FLOP/B`], ['compute', `${f.measure(p.y, 'FLOP/s')}`], ['bandwidth', f.rate(p.kernel.bytes, p.kernel.time, 'B/s')], ['time', f.time(p.kernel.time)]],
  }, event.clientX, event.clientY);
  return html`<svg class="roofline" viewBox="0 0 ${W} ${H}" width="100%" height="100%" role="img" aria-label="Roofline plot">
    ${decades(x0, x1).map((d) => svg`<line x1=${sx(10 ** d)} x2=${sx(10 ** d)} y1=${TOP} y2=${H - BOTTOM} stroke="var(--grid)" /><text x=${sx(10 ** d)} y=${H - BOTTOM + 15} text-anchor="middle">${10 ** d < 1 ? 10 ** d : f.short(10 ** d)}</text>`)}
    ${decades(y0, y1).map((d) => svg`<line x1=${LEFT} x2=${W - RIGHT} y1=${sy(10 ** d)} y2=${sy(10 ** d)} stroke="var(--grid)" /><text x=${LEFT - 7} y=${sy(10 ** d) + 4} text-anchor="end">${f.short(10 ** d)}</text>`)}
    <text x=${(LEFT + W) / 2} y=${H - 5} text-anchor="middle">FLOP per byte</text>
    <text x="12" y=${H / 2} text-anchor="middle" transform="rotate(-90 12 ${H / 2})">FLOP/s</text>
    ${roofs.map((d) => {
      const { bytesPerSecond: b, flopsPerSecond: p } = d.roof!;
      const [low, knee] = [10 ** x0, p / b];
      const start = Math.max(low, 10 ** y0 / b);
      return svg`<path d="M${sx(start)} ${sy(start * b)} L${sx(knee)} ${sy(p)} L${W - RIGHT} ${sy(p)}" fill="none" stroke="var(--muted)" stroke-width=${d.device === wanted ? 2.2 : 1.4} stroke-dasharray=${wanted && d.device !== wanted ? '3 4' : ''} />
        <text x=${W - RIGHT - 4} y=${sy(p) - 5} text-anchor="end">${d.name || d.device}: ${f.measure(b, 'B/s')}, ${f.measure(p, 'FLOP/s')}</text>`;
    })}
    ${points.map((p) => svg`<circle class="point" tabindex="0" cx=${sx(p.x)} cy=${sy(p.y)} r=${4 + 8 * Math.sqrt(p.kernel.time / most)} fill=${kindVariable(p.kernel.kind)} fill-opacity="0.75"
      stroke=${p.i === selected ? 'var(--select)' : 'var(--bg)'} stroke-width=${p.i === selected ? 2.5 : 1} @click=${() => pick(p.i)} @mousemove=${(e: MouseEvent) => tip(e, p)} @mouseleave=${() => showTip(null, 0, 0)}
      @keydown=${(e: KeyboardEvent) => e.key === 'Enter' && pick(p.i)} aria-label=${p.kernel.name} role="button" />`)}
  </svg>`;
}
