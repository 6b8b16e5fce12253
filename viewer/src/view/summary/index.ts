// Summary: totals, what to look at, where the time went, what it ran on. Fits a printed page.

import { html, nothing, render, type TemplateResult } from 'lit-html';
import { kindVariable } from '../../colour';
import * as f from '../../format';
import { analysis, loadTime, refusal, show, type ViewName } from '../../state';
import type { Analysis, Cost, Maker } from '../../analysis/types';
import { KIND_LABELS, KINDS } from '../../trace/kind';
import type { Trace } from '../../trace/model';
import type { View } from '../../ui/shell';
import { DataTable } from '../../ui/table';
import { amount, insights, isGood } from './insights';

const figure = (value: string, name: string, title = '') => html`<div class="figure" title=${title}><b>${value}</b><span>${name}</span></div>`;

function figures(t: Trace, a: Analysis): TemplateResult {
  const { totals, memory, kernels } = a;
  const { limit } = t.manifest.memory;
  return html`<div class="figures">
    ${figure(f.time(totals.duration_ns), 'window')} ${figure(f.time(totals.launch_ns), 'in launches, all streams')}
    ${figure(f.percent(totals.busy_ns, totals.duration_ns), 'of it some stream busy')} ${figure(f.count(totals.counts.launches!), 'launches')}
    ${figure(f.count(totals.counts.ops!), 'operations and inputs')} ${figure(f.count(kernels.length), 'kernels')}
    ${figure(f.bytes(memory.peak), limit > 0 ? `peak memory, ${f.percent(memory.peak, limit)} of the limit` : 'peak memory', `${f.count(memory.peak)} bytes`)}
  </div>`;
}

/** Who made the first NaN, from what, and how far it went. */
function story(t: Trace, { finite }: Analysis): TemplateResult | typeof nothing {
  if (isGood(finite)) return nothing;
  const go = (id: number, target: ViewName, text: string) => {
    const row = t.arrays.row(id);
    return row < 0 ? nothing : html`<button class="small" @click=${() => show(target, 'op', row)}>${text}</button>`;
  };
  const maker = (m: Maker, i: number) => html`<li class="bad"><i></i><div>
      <b>${i === 0 ? 'First made by' : 'Also made by'} ${m.label ?? m.name}</b> <span class="muted">#${m.op} ${m.label ? m.name : ''}</span> at <code>${m.call_site}</code>: ${amount(m.nan, m.inf)}, although everything it reads is finite.
      ${m.element ? html`<br />Element [${m.element.index.join(', ')}] is ${m.element.value}${m.element.read.length > 0 ? html`, from ${m.element.read.join(', ')}` : nothing}.` : nothing}
      ${m.among.length > 1 ? html`<br /><span class="muted">One of the ${m.among.length} operations of its launch: ${m.among.map((id) => `#${id}`).join(' ')}. <code>pellucid check</code> tells which.</span>` : nothing}
    </div>${go(m.op, 'tensor', 'Tensor')} ${go(m.op, 'dependencies', 'Spread')}</li>`;
  return html`<section class="card insights story" aria-label="NaN and infinity"><h2>NaN and infinity</h2><ul>
    ${finite.given.slice(0, 3).map((g) => html`<li class="warn"><i></i><div>Array #${g.array} came with ${amount(g.nan, g.inf)} (${g.what}).</div>${go(g.array, 'dependencies', 'Spread')}</li>`)}
    ${finite.makers.slice(0, 3).map(maker)}
    ${finite.made > 3 ? html`<li class="bad"><i></i><div>So did ${f.plural(finite.made - 3, 'other operation')}.</div></li>` : nothing}
    ${finite.passed_on > 0 ? html`<li><i></i><div>Passed on by ${f.plural(finite.passed_on, 'later operation')}; the pink path in graph and timeline.</div></li>` : nothing}
  </ul></section>`;
}

function insightList(t: Trace, a: Analysis): TemplateResult {
  const found = insights(t, a);
  return html`<section class="card insights"><h2>Insights</h2>
    ${found.length === 0 ? html`<p class="muted">Nothing stands out.</p>` : nothing}
    <ul>${found.map(({ level, gain, text, advice, go }) => html`<li class=${level}><i></i><div>${text}${advice ? html`<br /><span class="muted">${advice}</span>` : nothing}</div>
      ${gain ? html`<span class="gain" title="What it would gain at most">−${f.time(gain)}</span>` : nothing}
      ${go ? html`<button class="small" @click=${() => show(go.view, go.kind, go.row)}>Show</button>` : nothing}</li>`)}</ul>
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

/** The viewer's number of a kernel of the analysis. */
function numberOf(t: Trace, { name, device }: Cost): number {
  return t.kernels.findIndex((kernel) => kernel.name === name && kernel.device === device);
}

function kernelTable(t: Trace, { kernels }: Analysis): DataTable {
  const k = (row: number) => kernels[row]!;
  const kinds = kernels.map((kernel) => t.kernels[numberOf(t, kernel)]?.kind ?? 0);
  return new DataTable('Kernels by time', [
    { title: 'Kernel', text: (r) => k(r).name, swatch: (r) => kindVariable(kinds[r]!), width: 3 },
    { title: 'Share', text: (r) => f.percent(k(r).share, 1), key: (r) => k(r).share, right: true, bar: (r) => k(r).share, width: 1.4 },
    { title: 'Time', text: (r) => f.time(k(r).time_ns), key: (r) => k(r).time_ns, right: true, width: 1.2 },
    { title: 'Launches', text: (r) => f.count(k(r).count), key: (r) => k(r).count, right: true },
    { title: 'Bandwidth', text: (r) => f.rate(k(r).bytes, k(r).time_ns, 'B/s'), key: (r) => k(r).gb_per_s, right: true, width: 1.4 },
    { title: 'Compute', text: (r) => f.rate(k(r).flops, k(r).time_ns, 'FLOP/s'), key: (r) => k(r).gflop_per_s, right: true, width: 1.5 },
  ], (row) => show('kernels', 'kernel', numberOf(t, k(row))), { sort: 1, maxRows: 200 }).set(kernels.map((_, i) => i), f.plural(kernels.length, 'kernel'));
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

function streamTable({ streams }: Analysis): DataTable {
  const s = (row: number) => streams[row]!;
  return new DataTable('Streams', [
    { title: 'Stream', text: (r) => `${s(r).stream} ${s(r).label}`, key: (r) => s(r).stream, width: 2 },
    { title: 'Device', text: (r) => s(r).device, width: 2 },
    { title: 'Busy', text: (r) => f.percent(s(r).busy_share, 1), key: (r) => s(r).busy_share, right: true, bar: (r) => s(r).busy_share },
    { title: 'Time', text: (r) => f.time(s(r).busy_ns), key: (r) => s(r).busy_ns, right: true },
    { title: 'Launches', text: (r) => f.count(s(r).launches), key: (r) => s(r).launches, right: true },
    { title: 'In gaps', hint: 'Time between launches in which nothing ran', text: (r) => f.time(s(r).gap_ns), key: (r) => s(r).gap_ns, right: true },
  ], () => {}, { sort: 0, descending: false }).set(streams.map((_, i) => i));
}

export const summary: View = {
  panel: false,
  analysed: true,
  open(host, t) {
    const a = analysis.peek();
    render(html`<div class="page">${a ? html`${figures(t, a)} ${story(t, a)} ${insightList(t, a)}`
      : html`<section class="card insights" role="status"><h2>Analysis</h2><p class="muted">${refusal.peek() || 'Being computed; the timeline is ready.'}</p></section>`}
      ${about(t)} ${a ? html`${kernelTable(t, a).element} ${kindTable(t).element} ${streamTable(a).element}` : nothing}</div>`, host);
    return () => {};
  },
};
