// Kernels: what each costs, how close to the device's limits it runs, and its source.

import { effect } from '@preact/signals-core';
import { html, render } from 'lit-html';
import { kindVariable } from '../../colour';
import * as f from '../../format';
import type { Analysis, Cost } from '../../analysis/types';
import { analysis, focus, found, refusal, select } from '../../state';
import { duration, type Trace } from '../../trace/model';
import { readText } from '../../trace/open';
import { copyText } from '../../ui/copy';
import type { View } from '../../ui/shell';
import { DataTable } from '../../ui/table';
import { showTip } from '../../ui/tooltip';
import { highlight } from './highlight';
import { roofline } from './roofline';

/** A number as text, or a dash where there is none: a device that was not measured, a launch without a duration. */
function known(value: number | null | undefined, text: (value: number) => string): string {
  return value !== null && value !== undefined && Number.isFinite(value) && value > 0 ? text(value) : '–';
}

/** What the analysis says of each kernel of the trace. */
function costsOf(t: Trace, a: Analysis): Cost[] {
  const costs = new Map(a.kernels.map((cost) => [`${cost.device} ${cost.name}`, cost]));
  const none = { count: 0, time_ns: 0, share: 0, bytes: 0, flops: 0, gb_per_s: 0, gflop_per_s: 0, roof_share: null, source: null };
  return t.kernels.map((kernel) => costs.get(`${kernel.device} ${kernel.name}`) ?? { ...none, name: kernel.name, device: kernel.device });
}

function table(t: Trace, costs: Cost[]): DataTable {
  const k = (row: number) => costs[row]!;
  const spread = t.kernels.map((kernel) => {
    const times = Float64Array.from(kernel.rows, (row) => duration(t, row)).sort();
    return { median: times[times.length >> 1] ?? 0, longest: times.at(-1) ?? 0 };
  });
  return new DataTable('Kernels', [
    { title: 'Kernel', text: (r) => k(r).name, swatch: (r) => kindVariable(t.kernels[r]!.kind), width: 3.4 },
    { title: 'Time', text: (r) => f.time(k(r).time_ns), key: (r) => k(r).time_ns, right: true, bar: (r) => k(r).share, width: 1.2 },
    { title: 'Share', text: (r) => f.percent(k(r).share, 1), key: (r) => k(r).share, right: true },
    { title: 'Launches', text: (r) => f.count(k(r).count), key: (r) => k(r).count, right: true },
    { title: 'Mean', text: (r) => f.time(k(r).time_ns / k(r).count), key: (r) => k(r).time_ns / k(r).count, right: true },
    { title: 'Median', text: (r) => f.time(spread[r]!.median), key: (r) => spread[r]!.median, right: true },
    { title: 'Longest', text: (r) => f.time(spread[r]!.longest), key: (r) => spread[r]!.longest, right: true },
    { title: 'GB/s', text: (r) => known(k(r).gb_per_s, (v) => v.toPrecision(3)), key: (r) => k(r).gb_per_s, right: true },
    { title: 'GFLOP/s', text: (r) => known(k(r).gflop_per_s, (v) => v.toPrecision(3)), key: (r) => k(r).gflop_per_s, right: true },
    { title: 'Of roof', hint: 'The larger part of the measured bandwidth or compute roof that the kernel reaches', text: (r) => known(k(r).roof_share, (part) => f.percent(part, 1)), key: (r) => k(r).roof_share ?? -1, right: true },
    { title: 'Device', text: (r) => k(r).device, width: 1.6 },
  ], (row) => select('kernel', row), { sort: 1 });
}

export const kernels: View = {
  panel: true,
  analysed: true,
  open(host, t) {
    const a = analysis.peek();
    if (!a) {
      render(html`<p class="muted empty-row" role="status">${refusal.peek() || 'The figures of kernels are being computed.'}</p>`, host);
      return () => {};
    }
    const list = table(t, costsOf(t, a)).set(t.kernels.map((_, i) => i), f.plural(t.kernels.length, 'kernel'));
    const columns = document.createElement('div');
    columns.className = 'columns';
    const code = document.createElement('div');
    code.className = 'panel';
    const plot = document.createElement('div');
    plot.className = 'panel';
    columns.append(list.element, code, plot);
    host.append(columns);
    let shown = -2;
    const showSource = async (number: number, which = 0) => {
      const sources = number < 0 ? [] : t.kernels[number]!.sources;
      const source = sources[which] ?? '';
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
      render(html`<header><h2>Source</h2>${sources.length > 1 ? html`<select aria-label="Variant of the kernel" @change=${(e: Event) => void showSource(number, Number((e.target as HTMLSelectElement).value))}>
        ${sources.map((name, i) => html`<option value=${i} ?selected=${i === which}>${name}</option>`)}</select>` : html`<span class="muted">${source}</span>`}<button class="quiet copy" ?disabled=${!text} @click=${(e: Event) => copyText(text, e.currentTarget as HTMLElement)}>Copy</button></header>${body}`, code);
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
