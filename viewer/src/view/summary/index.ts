// Summary: totals, what to look at, where the time went, what it ran on. Fits a printed page.

import { html, nothing, render, type TemplateResult } from 'lit-html';
import { kindVariable } from '../../colour';
import * as f from '../../format';
import { loadTime, show } from '../../state';
import { KIND_LABELS, KINDS } from '../../trace/kind';
import type { Trace } from '../../trace/model';
import type { View } from '../../ui/shell';
import { DataTable } from '../../ui/table';
import { busyTime, insights } from './insights';

const figure = (value: string, name: string, title = '') => html`<div class="figure" title=${title}><b>${value}</b><span>${name}</span></div>`;

function figures(t: Trace): TemplateResult {
  const span = t.end - t.begin;
  const launched = t.kernels.reduce((sum, kernel) => sum + kernel.time, 0);
  const { memory } = t.manifest;
  return html`<div class="figures">
    ${figure(f.time(t.manifest.duration || span), 'window')} ${figure(f.time(launched), 'in launches, all streams')}
    ${figure(f.percent(busyTime(t), span), 'of it some stream busy')} ${figure(f.count(t.launches.rows), 'launches')}
    ${figure(f.count(t.ops.rows), 'operations and inputs')} ${figure(f.count(t.kernels.length), 'kernels')}
    ${figure(f.bytes(memory.peak), memory.limit > 0 ? `peak memory, ${f.percent(memory.peak, memory.limit)} of the limit` : 'peak memory', `${f.count(memory.peak)} bytes`)}
  </div>`;
}

function insightList(t: Trace): TemplateResult {
  const found = insights(t);
  return html`<section class="card insights"><h2>Insights</h2>
    ${found.length === 0 ? html`<p class="muted">Nothing stands out.</p>` : nothing}
    <ul>${found.map(({ level, text, go }) => html`<li class=${level}><i></i><div>${text}</div>${go ? html`<button class="small" @click=${() => show(go.view, go.kind, go.row)}>Show</button>` : nothing}</li>`)}</ul>
  </section>`;
}

function about(t: Trace): TemplateResult {
  const { manifest: m } = t;
  const started = m.startUnixNs > 0 ? new Date(m.startUnixNs / 1e6).toISOString().replace('T', ' ').slice(0, 19) : '';
  return html`<section class="card about"><h2>What ran where</h2>
    <dl>
      <dt>Program</dt><dd>${m.program.name} <span class="muted">${m.program.args.join(' ')}</span></dd>
      ${started ? html`<dt>Started</dt><dd>${started} UTC</dd>` : nothing}
      <dt>Machine</dt><dd>${[m.machine.cpu, m.machine.cores ? `${m.machine.cores} cores` : '', m.machine.memoryBytes ? f.bytes(m.machine.memoryBytes) : '', m.machine.os, m.machine.arch].filter(Boolean).join(' · ')}</dd>
      ${m.devices.map((d) => html`<dt>${d.device}</dt><dd>${[d.name, d.backend, d.driver, d.memoryBytes ? f.bytes(d.memoryBytes) : ''].filter(Boolean).join(' · ')}
        ${d.roof ? html`<br /><span class="muted">roof ${f.measure(d.roof.bytesPerSecond, 'B/s')}, ${f.measure(d.roof.flopsPerSecond, 'FLOP/s')}</span>` : nothing}</dd>`)}
      ${m.streams.map((s) => html`<dt>stream ${s.index}</dt><dd>${s.label} <span class="muted">${s.device}</span></dd>`)}
      <dt>Capture</dt><dd>mode ${m.mode || 'unknown'}, ${m.writer}</dd>
      <dt>File</dt><dd>${t.name}, ${f.bytes(t.file.size)} <span class="muted">read in ${f.time(loadTime.peek() * 1e6)}</span></dd>
    </dl>
  </section>`;
}

function kernelTable(t: Trace): DataTable {
  const total = t.kernels.reduce((sum, kernel) => sum + kernel.time, 0);
  const k = (row: number) => t.kernels[row]!;
  return new DataTable('Kernels by time', [
    { title: 'Kernel', text: (r) => k(r).name, swatch: (r) => kindVariable(k(r).kind), width: 3 },
    { title: 'Share', text: (r) => f.percent(k(r).time, total), key: (r) => k(r).time, right: true, bar: (r) => k(r).time / total, width: 1.4 },
    { title: 'Time', text: (r) => f.time(k(r).time), key: (r) => k(r).time, right: true, width: 1.2 },
    { title: 'Launches', text: (r) => f.count(k(r).rows.length), key: (r) => k(r).rows.length, right: true },
    { title: 'Bandwidth', text: (r) => f.rate(k(r).bytes, k(r).time, 'B/s'), key: (r) => k(r).bytes / k(r).time, right: true, width: 1.4 },
    { title: 'Compute', text: (r) => f.rate(k(r).flops, k(r).time, 'FLOP/s'), key: (r) => k(r).flops / k(r).time, right: true, width: 1.5 },
  ], (row) => show('kernels', 'kernel', row), { sort: 1, maxRows: 200 }).set(t.kernels.map((_, i) => i), f.plural(t.kernels.length, 'kernel'));
}

function kindTable(t: Trace): DataTable {
  const [time, launches] = [KINDS.map(() => 0), KINDS.map(() => 0)];
  const ops = KINDS.map(() => 0);
  for (let i = 0; i < t.launches.rows; i++) {
    time[t.kindOfLaunch[i]!]! += t.launches.end_ns[i]! - t.launches.start_ns[i]!;
    launches[t.kindOfLaunch[i]!]!++;
  }
  for (let i = 0; i < t.ops.rows; i++) ops[t.kindOfOp[i]!]!++;
  const total = time.reduce((a, b) => a + b, 0);
  const table = new DataTable('Kinds of operations', [
    { title: 'Kind', text: (r) => KIND_LABELS[KINDS[r]!], swatch: (r) => kindVariable(r), width: 2 },
    { title: 'Share', text: (r) => f.percent(time[r]!, total), key: (r) => time[r]!, right: true, bar: (r) => time[r]! / total, width: 1.4 },
    { title: 'Time', text: (r) => f.time(time[r]!), key: (r) => time[r]!, right: true, width: 1.2 },
    { title: 'Launches', text: (r) => f.count(launches[r]!), key: (r) => launches[r]!, right: true },
    { title: 'Ops', text: (r) => f.count(ops[r]!), key: (r) => ops[r]!, right: true },
  ], () => {}, { sort: 1 }).set(KINDS.map((_, i) => i).filter((i) => ops[i]! > 0 || launches[i]! > 0));
  table.element.classList.add('narrow');
  return table;
}

function streamTable(t: Trace): DataTable {
  const span = t.end - t.begin;
  const track = (row: number) => t.tracks[row]!;
  const busy = (row: number) => track(row).busy.at(-1)!;
  return new DataTable('Streams', [
    { title: 'Stream', text: (r) => `${track(r).stream} ${track(r).label}`, key: (r) => track(r).stream, width: 2 },
    { title: 'Device', text: (r) => track(r).device, width: 2 },
    { title: 'Busy', text: (r) => f.percent(busy(r), span), key: busy, right: true, bar: (r) => busy(r) / span },
    { title: 'Time', text: (r) => f.time(busy(r)), key: busy, right: true },
    { title: 'Launches', text: (r) => f.count(track(r).rows.length), key: (r) => track(r).rows.length, right: true },
  ], () => {}, { sort: 0, descending: false }).set(t.tracks.map((_, i) => i));
}

export const summary: View = {
  panel: false,
  open(host, t) {
    render(html`<div class="page">${figures(t)} ${insightList(t)} ${about(t)} ${kernelTable(t).element} ${kindTable(t).element} ${streamTable(t).element}</div>`, host);
    return () => {};
  },
};
