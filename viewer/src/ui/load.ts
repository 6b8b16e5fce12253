// Where traces come from: a picked or dropped file, the page itself, or the server of `pellucid view`.

import { batch } from '@preact/signals-core';
import { analyse, compareTraces } from '../analysis';
import { followLink } from '../link';
import { analysis, busy, comparison, failure, loadTime, marks, other, query, refusal, selection, trace, view } from '../state';
import { TraceError } from '../trace/error';
import type { Trace } from '../trace/model';
import { openTrace } from '../trace/open';
import { decodeBase64, isEmbedded, isServed } from '../values';

/** Larger files are shown before they are analysed. */
const LARGE = 8 * 1024 ** 2;

let opened = 0;

/** Opens a file as the trace, or as the one to compare with. How many were, also in vain, stands in the document. */
export async function load(file: Blob, name: string, second = false, overlook = false): Promise<void> {
  await openFile(file, name, second, overlook);
  document.documentElement.dataset.opened = String(++opened);
}

async function openFile(file: Blob, name: string, second: boolean, overlook: boolean): Promise<void> {
  const began = performance.now();
  failure.value = null;
  busy.value = 'Opening';
  const before = trace.value;
  let previewed = false;
  const preview = (early: Trace) => {
    previewed = true;
    batch(() => {
      selection.value = null;
      query.value = '';
      [analysis.value, marks.value, refusal.value] = [null, null, ''];
      trace.value = early;
      followLink();
    });
  };
  try {
    const opened = await openTrace(file, name, { progress: (text) => (busy.value = text), overlook, ...(second ? {} : { preview }) });
    if (second) return await openSecond(opened);
    // Small traces are analysed before they are shown, large ones while they are looked at.
    const known = file.size > LARGE ? null : await ask(() => analyse(file));
    batch(() => {
      loadTime.value = performance.now() - began;
      if (!previewed) selection.value = null;
      [analysis.value, marks.value, comparison.value, other.value] = [known?.analysis ?? null, known?.marks ?? null, null, null];
      trace.value = opened;
      document.title = `${opened.manifest.program.name || name} – Pellucid`;
      followLink(previewed);
      busy.value = file.size > LARGE ? 'Analysing' : null;
    });
    if (file.size <= LARGE) return;
    const late = await ask(() => analyse(file));
    if (trace.peek() !== opened) return;
    batch(() => {
      [analysis.value, marks.value, busy.value] = [late?.analysis ?? null, late?.marks ?? null, null];
    });
  } catch (error) {
    const { message, hint, defects } = error instanceof TraceError ? error : new TraceError(`The trace cannot be read: ${String(error)}.`);
    batch(() => {
      if (previewed) trace.value = before;
      busy.value = null;
      failure.value = { message, hint, defects, file: name, retry: defects.length > 0 ? () => void load(file, name, second, true) : null };
    });
  }
}

async function openSecond(opened: Trace): Promise<void> {
  const first = trace.peek();
  busy.value = 'Comparing';
  const found = first && (await ask(() => compareTraces(first.file, opened.file)));
  batch(() => {
    busy.value = null;
    comparison.value = found;
    other.value = opened;
    view.value = 'compare';
  });
}

/** An answer of the analysis, or null and the reason where there is none. */
async function ask<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    const answer = await work();
    refusal.value = '';
    return answer;
  } catch (error) {
    refusal.value = error instanceof TraceError ? `${error.message} ${error.hint}` : `The trace cannot be analysed: ${String(error)}.`;
    return null;
  }
}

/** Asks for a file. */
export function pick(second = false): void {
  const field = document.createElement('input');
  field.type = 'file';
  field.accept = '.pltrace,.zip';
  field.onchange = () => {
    const file = field.files?.[0];
    if (file) void load(file, file.name, second);
  };
  field.click();
}

export function acceptDrops(): void {
  const over = (on: boolean) => document.documentElement.classList.toggle('dropping', on);
  window.addEventListener('dragover', (event) => {
    event.preventDefault();
    over(true);
  });
  window.addEventListener('dragleave', (event) => {
    if (!event.relatedTarget) over(false);
  });
  window.addEventListener('drop', (event) => {
    event.preventDefault();
    over(false);
    const files = [...(event.dataTransfer?.files ?? [])];
    const second = view.value === 'compare' && trace.value !== null;
    if (files[0]) void load(files[0], files[0].name, second).then(() => files[1] && load(files[1], files[1].name, true));
  });
}

/** The trace that came with the page, if one did. */
export async function loadGiven(): Promise<void> {
  const embedded = document.getElementById('trace');
  if (embedded) {
    const text = embedded.textContent ?? '';
    const name = embedded.dataset.name || 'trace.pltrace';
    embedded.remove();
    try {
      const file = new Blob(decodeBase64(text));
      isEmbedded(file);
      await load(file, name);
    } catch {
      failure.value = { message: 'The trace in this page is not valid base64.', hint: 'Export it again.', defects: [], file: name, retry: null };
    }
    return;
  }
  const wanted = new URLSearchParams(location.search);
  if (!location.protocol.startsWith('http') || !wanted.has('trace')) return;
  const values = wanted.has('values');
  await fetchTrace(wanted.get('trace')!, false, values);
  if (wanted.has('compare')) await fetchTrace(wanted.get('compare')!, true, values);
}

/** Only files beside the page are fetched, whatever the address says. */
async function fetchTrace(wanted: string, second: boolean, values: boolean): Promise<void> {
  const name = /^[\w-][\w.-]*$/.test(wanted) ? wanted : 'trace.pltrace';
  busy.value = 'Fetching the trace';
  try {
    const reply = await fetch(`./${name}`, { cache: 'no-store', credentials: 'omit', redirect: 'error' });
    if (!reply.ok) throw new Error(`the server answered ${reply.status}`);
    const file = await reply.blob();
    if (values) isServed(file, second ? 1 : 0);
    await load(file, name, second);
  } catch (error) {
    batch(() => {
      busy.value = null;
      failure.value = { message: `The trace cannot be fetched: ${error instanceof Error ? error.message : String(error)}.`, hint: 'Is `pellucid view` still running?', defects: [], file: name, retry: null };
    });
  }
}
