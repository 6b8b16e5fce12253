// Deep links: the view and the selection stand in the address, `#view=timeline&op=123`. Ids, not rows, so that a
// link outlives the file's order.

import { batch, effect } from '@preact/signals-core';
import { selection, select, trace, VIEWS, view, type ViewName } from './state';

/** Takes over what the address says; of a trace that is already in sight only what was not there before. */
export function followLink(inSight = false): void {
  const t = trace.value;
  const wanted = new URLSearchParams(location.hash.slice(1));
  batch(() => {
    const name = wanted.get('view') as ViewName | null;
    const number = (key: string) => (/^\d{1,15}$/.test(wanted.get(key) ?? '') ? Number(wanted.get(key)) : -1);
    if (inSight) {
      if (selection.value) return;
    } else if (name && VIEWS.includes(name)) view.value = name;
    else if (wanted.has('op') || wanted.has('launch') || wanted.has('wait')) view.value = 'timeline';
    else if (wanted.has('kernel')) view.value = 'kernels';
    else if (wanted.has('buffer')) view.value = 'memory';
    if (!t) return;
    if (number('op') >= 0) select('op', t.arrays.row(number('op')));
    else if (number('launch') >= 0) select('launch', t.launchIds.row(number('launch')));
    else if (number('buffer') >= 0) select('buffer', t.lives.findIndex((life) => life.buffer === number('buffer')));
    else if (number('wait') >= 0) select('wait', number('wait') < t.sync.rows ? number('wait') : -1);
    else if (number('kernel') >= 0) select('kernel', number('kernel') < t.kernels.length ? number('kernel') : -1);
    else selection.value = null;
  });
}

/** Selections that follow each other faster than this, as while a key is held, are one step back. */
const STEP = 500;

/** Keeps the address up to date from now on, with an entry of the history for each view and selection: Back goes back. */
export function writeLinks(): void {
  let [before, last, following] = ['', 0, false];
  window.addEventListener('popstate', () => {
    following = true;
    followLink();
    following = false;
  });
  window.addEventListener('hashchange', () => followLink());
  effect(() => {
    const [t, s, name] = [trace.value, selection.value, view.value];
    if (!t || t.incomplete) return;
    const id = !s ? '' : s.kind === 'op' ? t.ops.id[s.row] : s.kind === 'launch' ? t.launches.id[s.row] : s.kind === 'buffer' ? t.lives[s.row]!.buffer : s.row;
    const hash = `#view=${name}${s ? `&${s.kind}=${id}` : ''}`;
    const now = performance.now();
    const step = before !== '' && !following && (name !== before || now - last > STEP);
    [before, last] = [name, now];
    if (location.hash === hash) return;
    if (step) history.pushState(null, '', hash);
    else history.replaceState(null, '', hash);
  });
}
