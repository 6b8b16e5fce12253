// What a person should look at first. Everything is taken from the analysis; here it only gets its words and its place
// to go to.

import type { Analysis, Cause, Finite } from '../../analysis/types';
import * as f from '../../format';
import type { Selection, ViewName } from '../../state';
import { word } from '../../trace/columns';
import { opLabel, type Trace } from '../../trace/model';

export interface Insight {
  level: 'bad' | 'warn' | 'note';
  /** What it would gain at most, in nanoseconds. */
  gain?: number;
  text: string;
  advice?: string;
  /** Where to look. */
  go?: { view: ViewName; kind: Selection['kind']; row: number };
}

const LOOK: Record<string, ViewName> = { unfused: 'dependencies', copy: 'dependencies', dead_result: 'dependencies', repeated: 'dependencies' };
const CAUSES: Record<Cause, string> = {
  first_launch: 'were the first of their kernel, which was compiled or cold', first_touch: 'wrote to memory fresh from the system',
  shared: 'ran beside another stream of the same device', outside: 'have no cause in the trace: another process, or the system',
};

/** The same rule as the crate's: an infinity that somebody put there is a mask. */
export const isGood = (finite: Finite): boolean => finite.made === 0 && finite.given.every((given) => given.nan === 0);

export const causeOf = (cause: Cause): string => CAUSES[cause];

/** `2 NaN and 3 infinite` */
export function amount(nan: number, inf: number): string {
  const parts = [nan > 0 || inf === 0 ? `${f.count(nan)} NaN` : '', inf > 0 ? `${f.count(inf)} infinite` : ''];
  return parts.filter(Boolean).join(' and ');
}

export function insights(t: Trace, a: Analysis): Insight[] {
  const out: Insight[] = [];
  const failed = t.ops.error.codes.findIndex((code) => code >= 0);
  if (a.totals.errors > 0 && failed >= 0) {
    out.push({
      level: 'bad', text: `${f.plural(a.totals.errors, 'operation')} failed; the first is ${opLabel(t, failed)} (#${t.ops.id[failed]}, ${word(t.ops.call_site, failed)}): ${word(t.ops.error, failed)}`,
      go: { view: 'dependencies', kind: 'op', row: failed },
    });
  }
  for (const { kind, gain_ns, text, advice, examples } of a.insights) {
    const row = examples.length > 0 ? t.arrays.row(examples[0]!) : -1;
    out.push({ level: kind === 'fallback' ? 'warn' : 'note', gain: gain_ns, text, advice, ...(row >= 0 ? { go: { view: LOOK[kind] ?? 'timeline', kind: 'op' as const, row } } : {}) });
  }
  const { outliers, totals, memory, waits } = a;
  if (outliers.count > 0) {
    const causes = (Object.entries(outliers.causes) as [Cause, number][]).map(([cause, n]) => `${f.count(n)} ${CAUSES[cause]}`);
    const row = t.launchIds.row(outliers.worst[0]!.launch);
    out.push({
      level: 'note', gain: outliers.lost_ns, text: `${f.plural(outliers.count, 'launch', 'launches')} took more than three times as long as others of their kernel: ${causes.join('; ')}`,
      ...(row >= 0 ? { go: { view: 'timeline' as const, kind: 'launch' as const, row } } : {}),
    });
  }
  const { limit } = t.manifest.memory;
  if (limit > 0 && memory.peak > limit * 0.9) out.push({ level: 'warn', text: `Memory reached ${f.bytes(memory.peak)}, ${f.percent(memory.peak, limit)} of the limit of ${f.bytes(limit)}.` });
  if (totals.counts.launches! > 0 && totals.busy_ns < totals.duration_ns * 0.5) out.push({ level: 'note', text: `Some stream was busy for ${f.percent(totals.busy_ns, totals.duration_ns)} of the window; the rest is waiting or work outside of Pellucid.` });
  if (waits.host_ns > totals.duration_ns * 0.3) out.push({ level: 'note', text: `The host waited for streams for ${f.time(waits.host_ns)}, ${f.percent(waits.host_ns, totals.duration_ns)} of the window.` });
  for (const native of t.manifest.native) out.push({ level: 'note', text: `${native.kind}: ${native.ok ? `written to ${native.path}` : native.message}` });
  return out;
}
