// The frame around the views: header, tabs, the selected view, the panel beside it, and what is shown without a trace.

import { effect, untracked } from '@preact/signals-core';
import { html, nothing, render, type TemplateResult } from 'lit-html';
import { theme, toggleTheme } from '../colour';
import * as f from '../format';
import { analysis, busy, failure, found, query, select, selection, trace, view, VIEWS, type ViewName } from '../state';
import { folded, inspector } from './inspector';
import { HELP } from './help';
import { pick } from './load';
import type { Trace } from '../trace/model';

/** A view: drawn into its element when shown, told when it is hidden. */
export interface View {
  /** Builds the view for a trace; returns what undoes it. */
  open(host: HTMLElement, t: Trace): () => void;
  /** Whether the panel for the selection stands beside it. */
  panel: boolean;
  /** Whether it is built anew when the analysis of a large trace has come. */
  analysed?: boolean;
}

const TITLES: Record<ViewName, string> = {
  summary: 'Summary', timeline: 'Timeline', dependencies: 'Dependencies', kernels: 'Kernels', memory: 'Memory', tensor: 'Tensor', source: 'Source', compare: 'Compare',
};

export function start(root: HTMLElement, views: Record<ViewName, View>): void {
  const host = document.createElement('main');
  host.id = 'view';
  host.setAttribute('role', 'tabpanel');
  const helpBox = document.createElement('dialog');
  helpBox.className = 'help';
  render(HELP, helpBox);
  helpBox.onclick = (event) => event.target === helpBox && helpBox.close();

  let close = () => {};
  effect(() => {
    const [t, name] = [trace.value, view.value];
    if (views[name].analysed) analysis.value;
    close();
    close = () => {};
    host.replaceChildren();
    host.className = `view-${name}`;
    if (!t) return;
    const inner = document.createElement('div');
    inner.className = 'view';
    host.append(inner);
    close = untracked(() => views[name].open(inner, t));
  });
  document.body.append(helpBox);
  effect(() => {
    render(page(views, host), root);
  });
  window.addEventListener('keydown', (event) => shortcut(event, helpBox));
}

function page(views: Record<ViewName, View>, host: HTMLElement): TemplateResult {
  const [t, failed, name] = [trace.value, failure.value, view.value];
  return html`
    <header class="top">
      <span class="brand" aria-label="Pellucid viewer"><i></i>Pellucid</span>
      ${t ? html`<span class="file" title=${t.name}>${t.manifest.program.name ? html`${t.manifest.program.name}<span class="muted"> · ${t.name}</span>` : t.name}</span>` : nothing}
      <nav role="tablist" aria-label="Views">
        ${t ? VIEWS.map((v, i) => html`<button role="tab" id=${`tab-${v}`} aria-selected=${String(v === name)} tabindex=${v === name ? 0 : -1} title=${`${TITLES[v]} (${i + 1})`} aria-controls="view" @click=${() => (view.value = v)} @keydown=${tabKey}>${TITLES[v]}</button>`) : nothing}
      </nav>
      ${t ? searchBox() : nothing}
      <span class="actions">
        <button class="quiet" title="Open a trace (O)" @click=${() => pick()}>Open</button>
        ${t ? html`<button class="quiet" title="Compare with a second trace (C)" @click=${() => pick(true)}>Compare with…</button>` : nothing}
        <button class="quiet icon" id="theme" title="Light or dark (T)" aria-label="Switch between light and dark" @click=${toggleTheme}>${theme.value === 'dark' ? '☀' : '☾'}</button>
        <button class="quiet icon" title="Keyboard shortcuts (?)" aria-label="Keyboard shortcuts" @click=${() => document.querySelector<HTMLDialogElement>('dialog.help')?.showModal()}>?</button>
      </span>
    </header>
    ${busy.value !== null ? html`<div class="progress" role="status"><i></i>${busy.value}…</div>` : nothing}
    ${failed ? errorPanel(failed) : nothing}
    ${t && !failed ? banners(t) : nothing}
    <div class="content" ?hidden=${!t || !!failed}>
      ${host}
      ${t && views[name].panel ? inspector(t) : nothing}
    </div>
    ${!t && !failed && busy.value === null ? empty() : nothing}
    <div class="drop-note">Drop the trace to open it</div>`;
}

function tabKey(event: KeyboardEvent): void {
  const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  if (!step) return;
  event.preventDefault();
  view.value = VIEWS[(VIEWS.indexOf(view.value) + step + VIEWS.length) % VIEWS.length]!;
  const tab = document.getElementById(`tab-${view.value}`);
  tab?.focus();
  tab?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

/** Moves the selection to the next match. */
export function nextMatch(step: number): void {
  const [t, matches] = [trace.value, found.value];
  if (!t || !matches) return;
  const rows = matches.rows.length > 0 ? matches.rows : matches.opRows.length > 0 ? matches.opRows : matches.waits;
  if (rows.length === 0) return;
  const kind = rows === matches.rows ? 'launch' : rows === matches.opRows ? 'op' : 'wait';
  const s = selection.value;
  const now = s?.kind === kind ? rows.indexOf(s.row) : -1;
  select(kind, rows[(now + step + rows.length) % rows.length] ?? rows[0]!);
}

function searchBox(): TemplateResult {
  const matches = found.value;
  const key = (event: KeyboardEvent) => {
    if (event.key === 'Enter') nextMatch(event.shiftKey ? -1 : 1);
    else if (event.key === 'Escape') {
      query.value = '';
      (event.target as HTMLElement).blur();
    } else return;
    event.preventDefault();
  };
  return html`<label class="search">
    <input id="search" type="search" placeholder="Search name, file:line, #id, type, shape, stream  ( / )" aria-label="Search operations and launches" .value=${query.value}
      @input=${(event: Event) => (query.value = (event.target as HTMLInputElement).value)} @keydown=${key} />
    ${matches ? html`<output>${f.plural(matches.rows.length, 'launch', 'launches')}, ${f.plural(matches.opRows.length, 'op')}${matches.waits.length > 0 ? `, ${f.plural(matches.waits.length, 'wait')}` : ''}</output>` : nothing}
  </label>`;
}

function banners(t: Trace): TemplateResult {
  const { manifest } = t;
  return html`
    ${t.incomplete ? html`<div class="banner warn" role="status"><b>Not all is here yet:</b> the launches are shown, operations and memory are still being read.</div>` : nothing}
    ${t.defects.length > 0 ? html`<div class="banner bad" role="alert"><b>Defects were overlooked:</b> ${t.defects.join(' ')} What depends on them is left out.</div>` : nothing}
    ${manifest.partial ? html`<div class="banner warn" role="alert"><b>This capture is partial:</b> it was ended by a panic or recovered from a broken file.</div>` : nothing}
    ${manifest.truncated ? html`<div class="banner warn" role="alert"><b>Something was left out:</b> ${manifest.leftOut.join('; ') || 'the file reached its size limit'}.</div>` : nothing}`;
}

function errorPanel(failed: NonNullable<typeof failure.value>): TemplateResult {
  return html`<section class="error-panel" role="alert">
    <h1>This trace cannot be shown</h1>
    <p class="what">${failed.message}</p>
    ${failed.defects.length > 0 ? html`<ul>${failed.defects.map((defect) => html`<li>${defect}</li>`)}</ul>` : nothing}
    ${failed.hint ? html`<p>${failed.hint}</p>` : nothing}
    <p class="muted">${failed.file}</p>
    <p>
      <button class="primary" @click=${() => pick()}>Open another trace</button>
      ${failed.retry ? html`<button @click=${failed.retry}>Open anyway, leaving out what is broken</button>` : nothing}
      ${trace.value ? html`<button @click=${() => (failure.value = null)}>Back to ${trace.value.name}</button>` : nothing}
    </p>
  </section>`;
}

function empty(): TemplateResult {
  return html`<section class="empty">
    <h1>Open a trace</h1>
    <p>Drop a <code>.pltrace</code> file here, or <button class="primary" @click=${() => pick()}>choose a file</button></p>
    <p class="muted">Nothing leaves this page: it has no access to any network.</p>
    <h2>How to get a trace</h2>
    <pre>pellucid capture -- ./program      # a whole program
pellucid demo                      # an example to look at</pre>
    <p>or around a part of your program:</p>
    <pre>pellucid::start_capture("run.pltrace")?;
// … the work to look at …
pellucid::stop_capture()?;</pre>
  </section>`;
}

function shortcut(event: KeyboardEvent, help: HTMLDialogElement): void {
  const target = event.target as HTMLElement;
  // Keys that the list names work while it is open; it makes way for them.
  if (help.open && event.key !== 'Escape' && event.key !== 'Tab' && event.key !== 'Enter' && event.key !== ' ') help.close();
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest('input, textarea, select')) return;
  const number = Number(event.key);
  if (number >= 1 && number <= VIEWS.length && trace.value) view.value = VIEWS[number - 1]!;
  else if (event.key === '/') document.getElementById('search')?.focus();
  else if (event.key === '?') help.showModal();
  else if (event.key === 'Escape' && help.open) help.close();
  else if (event.key === 'Escape') selection.value = null;
  else if (event.key === 'i' && trace.value) folded.value = !folded.value;
  else if (event.key === 't') toggleTheme();
  else if (event.key === 'o') pick();
  else if (event.key === 'c' && trace.value) pick(true);
  else if (event.key === 'n' || event.key === 'N') nextMatch(event.shiftKey ? -1 : 1);
  else return;
  event.preventDefault();
}
