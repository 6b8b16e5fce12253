// Kernels: what each costs, how close to the device's limits it runs, and its source.

import { effect } from '@preact/signals-core';
import { html, render } from 'lit-html';
import { kindVariable } from '../../colour';
import * as f from '../../format';
import { focus, found, select } from '../../state';
import { duration, type Trace } from '../../trace/model';
import { readText } from '../../trace/open';
import { copyText } from '../../ui/copy';
import type { View } from '../../ui/shell';
import { DataTable } from '../../ui/table';
import { showTip } from '../../ui/tooltip';
import { highlight } from './highlight';
import { roofline } from './roofline';

/** How much of what the device can do a kernel reaches, by the nearer roof. */
function reached(t: Trace, number: number): number {
  const k = t.kernels[number]!;
  const roof = t.manifest.devices.find((d) => d.device === k.device)?.roof;
  if (!roof || k.time <= 0) return NaN;
  return Math.max(k.bytes / k.time / (roof.bytesPerSecond / 1e9), k.flops / k.time / (roof.flopsPerSecond / 1e9));
}

/** A number as text, or a dash where there is none: a device that was not measured, a launch without a duration. */
function known(value: number, text: (value: number) => string): string {
  return Number.isFinite(value) ? text(value) : '–';
}

function table(t: Trace): DataTable {
  const k = (row: number) => t.kernels[row]!;
  const total = t.kernels.reduce((sum, kernel) => sum + kernel.time, 0);
  const extremes = t.kernels.map((kernel) => {
    let [low, high] = [Infinity, 0];
    for (const row of kernel.rows) {
      low = Math.min(low, duration(t, row));
      high = Math.max(high, duration(t, row));
    }
    return [low, high] as const;
  });
  return new DataTable('Kernels', [
    { title: 'Kernel', text: (r) => k(r).name, swatch: (r) => kindVariable(k(r).kind), width: 3.4 },
    { title: 'Time', text: (r) => f.time(k(r).time), key: (r) => k(r).time, right: true, bar: (r) => k(r).time / total, width: 1.2 },
    { title: 'Share', text: (r) => f.percent(k(r).time, total), key: (r) => k(r).time, right: true },
    { title: 'Launches', text: (r) => f.count(k(r).rows.length), key: (r) => k(r).rows.length, right: true },
    { title: 'Mean', text: (r) => f.time(k(r).time / k(r).rows.length), key: (r) => k(r).time / k(r).rows.length, right: true },
    { title: 'Shortest', text: (r) => f.time(extremes[r]![0]), key: (r) => extremes[r]![0], right: true },
    { title: 'Longest', text: (r) => f.time(extremes[r]![1]), key: (r) => extremes[r]![1], right: true },
    { title: 'GB/s', text: (r) => known(k(r).bytes / k(r).time, (v) => v.toPrecision(3)), key: (r) => k(r).bytes / k(r).time, right: true },
    { title: 'GFLOP/s', text: (r) => known(k(r).flops / k(r).time, (v) => v.toPrecision(3)), key: (r) => k(r).flops / k(r).time, right: true },
    { title: 'Of roof', hint: 'The larger part of the measured bandwidth or compute roof that the kernel reaches', text: (r) => known(reached(t, r), (part) => f.percent(part, 1)), key: (r) => (Number.isNaN(reached(t, r)) ? -1 : reached(t, r)), right: true },
    { title: 'Device', text: (r) => k(r).device, width: 1.6 },
  ], (row) => select('kernel', row), { sort: 1 });
}

export const kernels: View = {
  panel: true,
  open(host, t) {
    const list = table(t).set(t.kernels.map((_, i) => i), f.plural(t.kernels.length, 'kernel'));
    const columns = document.createElement('div');
    columns.className = 'columns';
    const code = document.createElement('div');
    code.className = 'panel';
    const plot = document.createElement('div');
    plot.className = 'panel';
    columns.append(list.element, code, plot);
    host.append(columns);
    let shown = -2;
    const showSource = async (number: number) => {
      const source = number < 0 ? '' : t.kernels[number]!.source;
      const body = document.createElement('pre');
      body.className = 'source';
      body.tabIndex = 0;
      let text = '';
      if (number < 0) body.append(message('Select a kernel to see its source.'));
      else if (!source) body.append(message('This kernel has no source in the trace: it is compiled into the program.'));
      else {
        try {
          text = await readText(t, source);
          body.append(...highlight(text, source.split('.').at(-1)!));
        } catch (error) {
          body.append(message(error instanceof Error ? error.message : String(error)));
        }
      }
      if (number !== shown) return;
      render(html`<header><h2>Source</h2><span class="muted">${source}</span><button class="quiet copy" ?disabled=${!text} @click=${(e: Event) => copyText(text, e.currentTarget as HTMLElement)}>Copy</button></header>${body}`, code);
    };
    const stops = [
      effect(() => {
        const { kernel } = focus.value;
        list.mark(kernel);
        render(html`<header><h2>Roofline</h2><span class="muted">area by time</span></header><div class="fill">${roofline(t, kernel, (k) => select('kernel', k))}</div>`, plot);
        if (kernel !== shown) {
          shown = kernel;
          void showSource(kernel);
        }
      }),
      effect(() => {
        const hits = found.value;
        const wanted = hits && new Set(Array.from(hits.rows, (row) => t.kernelOfLaunch[row]!));
        const rows = t.kernels.map((_, i) => i).filter((i) => !wanted || wanted.has(i));
        list.set(rows, wanted ? `${rows.length} of ${f.plural(t.kernels.length, 'kernel')} match` : f.plural(rows.length, 'kernel'));
      }),
    ];
    return () => {
      stops.forEach((stop) => stop());
      showTip(null, 0, 0);
    };
  },
};

function message(text: string): HTMLElement {
  const line = document.createElement('p');
  line.className = 'muted empty-row';
  line.textContent = text;
  return line;
}
