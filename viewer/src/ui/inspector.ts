// The panel beside every view: what is selected, with links to all it is connected to.

import { effect, signal } from '@preact/signals-core';
import { html, nothing, type TemplateResult } from 'lit-html';
import { kindVariable } from '../colour';
import * as f from '../format';
import { focus, marks, select, selection, show, type ViewName } from '../state';
import { lowerBound } from '../view/timeline/lod';
import { sourceOf } from '../values';
import { callSite } from './editor';
import { lazyWord, list, word, words } from '../trace/columns';
import { KIND_LABELS, KINDS } from '../trace/kind';
import { arrayType, duration, inputsOf, isResult, isUnused, opLabel, opsOfLaunch, outputsOf, readersOf, type Trace } from '../trace/model';

const swatch = (kind: number) => html`<i class="swatch" .style=${`background:${kindVariable(kind)}`}></i>`;
const row = (name: string, value: unknown) => (value === '' || value === nothing || value === null ? nothing : html`<dt>${name}</dt><dd>${value}</dd>`);

function opLink(t: Trace, op: number): TemplateResult {
  return html`<li><button class="link" @click=${() => select('op', op)}>${swatch(t.kindOfOp[op]!)}${opLabel(t, op)} <span class="muted">#${t.ops.id[op]} ${arrayType(t, op)}</span></button></li>`;
}

function opLinks(t: Trace, title: string, ops: number[]): TemplateResult | typeof nothing {
  if (ops.length === 0) return nothing;
  const shown = ops.slice(0, 40);
  return html`<h3>${title} <span class="muted">${ops.length}</span></h3><ul class="links">${shown.map((op) => opLink(t, op))}</ul>
    ${ops.length > shown.length ? html`<p class="muted">and ${f.count(ops.length - shown.length)} more</p>` : nothing}`;
}

function jump(target: ViewName, text: string, enabled: boolean): TemplateResult | typeof nothing {
  return enabled ? html`<button class="small" @click=${() => show(target)}>${text}</button>` : nothing;
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 1).slice(0, 4000);
  } catch {
    return json.slice(0, 4000);
  }
}

function operation(t: Trace, op: number): TemplateResult {
  const { ops } = t;
  const region = t.regionOfOp[op]!;
  const marks = [
    ops.fallback[op] ? html`<span class="badge warn" title=${word(ops.fallback_reason, op)}>ran on the CPU instead</span>` : nothing,
    isUnused(t, op) ? html`<span class="badge warn">result never read</span>` : nothing,
    isResult(t, op) ? html`<span class="badge">held at the end</span>` : nothing,
    t.launchOfOp[op]! < 0 && word(ops.name, op) !== 'input' ? html`<span class="badge">view, nothing ran</span>` : nothing,
  ];
  const stat = t.statOfArray.row(ops.id[op]!);
  const bad = stat >= 0 && t.stats.nan[stat]! + t.stats.inf[stat]! > 0;
  return html`
    <h2>${swatch(t.kindOfOp[op]!)}${opLabel(t, op)}</h2>
    <p class="badges">${marks}${bad ? html`<span class="badge bad">${f.count(t.stats.nan[stat]!)} NaN, ${f.count(t.stats.inf[stat]!)} Inf</span>` : nothing}</p>
    ${word(ops.error, op) ? html`<p class="error-text">${word(ops.error, op)}</p>` : nothing}
    <dl>
      ${row('Operation', html`${word(ops.name, op)} <span class="muted">${KIND_LABELS[KINDS[t.kindOfOp[op]!]!]}</span>`)}
      ${row('Array', outputsOf(t, op).map((id) => `#${id}`).join(' '))}
      ${row('Type', arrayType(t, op))}
      ${row('Stream', `${ops.stream[op]} · ${word(ops.device, op)}`)}
      ${row('Call site', callSite(t, word(ops.call_site, op)))}
      ${row('Region', region >= 0 ? t.regions[region]!.name : '')}
      ${row('Work', `${f.measure(ops.flops[op]!, 'FLOP')}, ${f.bytes(ops.bytes[op]!)}`)}
    </dl>
    <details><summary>Parameters</summary><pre>${pretty(lazyWord(ops.op, op))}</pre></details>
    ${opLinks(t, 'Reads', inputsOf(t, op))} ${opLinks(t, 'Read by', readersOf(t, op))}`;
}

function launchPart(t: Trace, launch: number): TemplateResult {
  const l = t.launches;
  const time = duration(t, launch);
  const ops = opsOfLaunch(t, launch);
  return html`
    <h2>${swatch(t.kindOfLaunch[launch]!)}${word(l.kernel, launch)}</h2>
    <dl>
      ${row('Launch', `#${l.id[launch]}`)} ${row('Duration', html`<b>${f.time(time)}</b>`)}
      ${row('Start', f.time(l.start_ns[launch]!))} ${row('Queued', `${f.time(l.start_ns[launch]! - l.enqueue_ns[launch]!)} before the start`)}
      ${row('Stream', `${l.stream[launch]} · ${word(l.device, launch)}`)} ${row('Grid', list(l.grid, launch).join(' × '))}
      ${row('Moved', `${f.bytes(l.bytes[launch]!)} · ${f.rate(l.bytes[launch]!, time, 'B/s')}`)}
      ${row('Computed', `${f.measure(l.flops[launch]!, 'FLOP')} · ${f.rate(l.flops[launch]!, time, 'FLOP/s')}`)}
      ${row('Timed by', word(l.timed_by, launch))} ${row('Submission', String(l.submission[launch]))}
    </dl>
    ${ops.length > 1 ? opLinks(t, 'Fused operations', ops) : nothing} ${dispatchList(t, launch)}`;
}

/** More are not listed; a sort has some dozen. */
const MOST_DISPATCHES = 200;

/** The kernels that a GPU was given for a launch, with what each ran on. */
function dispatchList(t: Trace, launch: number): TemplateResult | typeof nothing {
  const [from, until] = t.dispatchesOfLaunch.get(launch) ?? [0, 0];
  if (until === from) return nothing;
  const d = t.dispatches;
  const item = (row: number) => {
    const roles = words(d.roles, row);
    const sizes = list(d.sizes, row);
    const bound = roles.map((role, i) => `${role} ${f.bytes(sizes[i] ?? 0)}`).join(', ');
    return html`<li title=${bound}>${word(d.kernel, row)} <span class="muted">${list(d.grid, row).join(' × ')} of ${list(d.workgroup, row).join(' × ')} · ${f.time(d.end_ns[row]! - d.start_ns[row]!)} · ${bound}</span></li>`;
  };
  const rows = Array.from({ length: Math.min(until - from, MOST_DISPATCHES) }, (_, i) => from + i);
  return html`<h3>Dispatches (${until - from})</h3>
    <ol class="dispatches">${rows.map(item)}</ol>
    ${until - from > MOST_DISPATCHES ? html`<p class="muted">and ${until - from - MOST_DISPATCHES} more</p>` : nothing}`;
}

function bufferPart(t: Trace, row_: number): TemplateResult {
  const life = t.lives[row_]!;
  return html`
    <h2>Buffer ${life.buffer}</h2>
    <dl>
      ${row('Size', html`<b>${f.bytes(life.bytes)}</b>`)} ${row('From', `${life.before ? 'before the window' : f.time(life.start)} · ${life.event}`)}
      ${row('Until', life.after ? 'still held at the end' : f.time(life.end))} ${row('For', f.time(life.end - life.start))}
      ${row('Device', life.device)} ${row('Made for', life.op >= 0 ? html`<button class="link" @click=${() => select('op', life.op)}>${opLabel(t, life.op)} <span class="muted">#${t.ops.id[life.op]}</span></button>` : '')}
      ${row('Call site', life.op >= 0 ? html`<code>${word(t.ops.call_site, life.op)}</code>` : '')}
    </dl>`;
}

/** What a wait was for, what came behind it, and what it cost. */
function waitPart(t: Trace, row_: number): TemplateResult {
  const { time_ns, duration_ns, waiter, waited_for } = t.sync;
  const [begin, end] = [time_ns[row_]!, time_ns[row_]! + duration_ns[row_]!];
  const track = (stream: number) => t.tracks.find((candidate) => candidate.stream === stream);
  const name = (stream: number) => (stream < 0 ? 'the host' : `stream ${stream} ${track(stream)?.label ?? ''}`);
  const source = track(waited_for[row_]!);
  const ended = source ? source.rows[lowerBound(source.end, end + 1) - 1] : undefined;
  const next = waiter[row_]! >= 0 ? track(waiter[row_]!) : source;
  const behind = next ? next.rows[lowerBound(next.start, end)] : undefined;
  const found = marks.value?.waits.find(([row]) => row === row_);
  const link = (launch: number | undefined) => (launch === undefined ? '' : html`<button class="link" @click=${() => select('launch', launch)}>${word(t.launches.kernel, launch)} <span class="muted">#${t.launches.id[launch]}</span></button>`);
  return html`<h2>Wait</h2>
    <dl>
      ${row('Who', name(waiter[row_]!))} ${row('For', name(waited_for[row_]!))} ${row('Duration', html`<b>${f.time(duration_ns[row_]!)}</b>`)} ${row('Start', f.time(begin))}
      ${row('Ended by', link(ended))} ${row('Then', link(behind))}
      ${row('Without it', found ? html`<b class="gain">−${f.time(found[2])}</b> <span class="muted">${found[1] === 'needless_wait' ? 'nothing behind it reads from that stream' : 'the stream had nothing to do meanwhile'}</span>` : 'nothing gained: what comes behind needs it')}
    </dl>`;
}

function kernelPart(t: Trace, number: number): TemplateResult {
  const k = t.kernels[number]!;
  return html`
    <h2>${swatch(k.kind)}${k.name}</h2>
    <dl>
      ${row('Launches', f.count(k.rows.length))} ${row('Total', html`<b>${f.time(k.time)}</b>`)} ${row('Mean', f.time(k.time / k.rows.length))}
      ${row('Bandwidth', f.rate(k.bytes, k.time, 'B/s'))} ${row('Compute', f.rate(k.flops, k.time, 'FLOP/s'))} ${row('Device', k.device)}
    </dl>`;
}

/** Whether only a strip of the panel is shown. */
export const folded = signal(readFolded());
effect(() => {
  try {
    localStorage.setItem('pellucid-folded', folded.value ? '1' : '');
  } catch {
    // It holds until the page is closed.
  }
});

function readFolded(): boolean {
  try {
    return localStorage.getItem('pellucid-folded') === '1';
  } catch {
    return false; // Storage may be switched off.
  }
}

function fold(what: string): TemplateResult {
  const text = folded.value ? 'Unfold the panel (I)' : 'Fold the panel (I)';
  return html`<div class="fold"><button aria-expanded=${String(!folded.value)} aria-label=${text} title=${text} @click=${() => (folded.value = !folded.value)}>${folded.value ? '◂' : '▸'}</button><span class="what">${folded.value ? what : ''}</span></div>`;
}

export function inspector(t: Trace): TemplateResult {
  const [s, at] = [selection.value, focus.value];
  if (folded.value) {
    const what = !s ? 'Nothing is selected' : at.op >= 0 ? opLabel(t, at.op) : at.kernel >= 0 ? t.kernels[at.kernel]!.name : '';
    return html`<aside class="inspector folded" aria-label="Selection">${fold(what)}</aside>`;
  }
  if (!s) {
    return html`<aside class="inspector" aria-label="Selection">${fold('')}<p class="muted hint">Nothing is selected.<br />Click a launch, an operation, a buffer or a row; every view follows.</p></aside>`;
  }
  const hasTensor = at.op >= 0 && (sourceOf(t, t.ops.id[at.op]!) !== null || t.statOfArray.row(t.ops.id[at.op]!) >= 0);
  return html`<aside class="inspector" aria-label="Selection">${fold('')}
    <div class="jumps">
      ${jump('timeline', 'Timeline', at.launch >= 0)} ${jump('dependencies', 'Graph', at.op >= 0)} ${jump('kernels', 'Kernel', at.kernel >= 0)}
      ${jump('memory', 'Memory', at.life >= 0)} ${jump('tensor', 'Tensor', hasTensor)} ${jump('source', 'Source', at.op >= 0)}
      <button class="small" title="Clear the selection (Esc)" @click=${() => (selection.value = null)}>✕</button>
    </div>
    ${s.kind === 'op' ? operation(t, s.row) : s.kind === 'launch' ? launchPart(t, s.row) : s.kind === 'buffer' ? bufferPart(t, s.row) : s.kind === 'wait' ? waitPart(t, s.row) : kernelPart(t, s.row)}
    ${s.kind !== 'launch' && at.launch >= 0 ? launchPart(t, at.launch) : nothing}
    ${s.kind === 'launch' && at.op >= 0 ? operation(t, at.op) : nothing}
    ${s.kind !== 'buffer' && at.life >= 0 ? bufferPart(t, at.life) : nothing}
  </aside>`;
}
