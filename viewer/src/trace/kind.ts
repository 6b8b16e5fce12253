// Families of operations. Colours and counts go by family, so that a picture can be read at a glance.

export const KINDS = [
  'other', 'input', 'layout', 'source', 'elementwise', 'assemble', 'index', 'reduce', 'order', 'softmax', 'matmul',
] as const;
export type Kind = (typeof KINDS)[number];

export const KIND_LABELS: Record<Kind, string> = {
  other: 'Other', input: 'Input', layout: 'View / layout', source: 'Creation', elementwise: 'Elementwise', assemble: 'Copy / assemble',
  index: 'Indexing', reduce: 'Reduction', order: 'Scan / sort', softmax: 'Softmax', matmul: 'Matrix product',
};

const NAMES: Record<Exclude<Kind, 'other' | 'elementwise'>, string> = {
  input: 'input',
  layout: 'reshape transpose broadcast_to slice as_strided view depends',
  source: 'full arange random_bits',
  assemble: 'contiguous copy concatenate pad slice_update',
  index: 'take take_along_axis put_along_axis gather scatter',
  reduce: 'sum prod max min all any logsumexp argmax argmin mean',
  order: 'cumsum cumprod cummax cummin logcumsumexp sort argsort partition',
  softmax: 'softmax layer_norm rms_norm',
  matmul: 'matmul addmm conv',
};
const BY_NAME = new Map(Object.entries(NAMES).flatMap(([kind, names]) => names.split(' ').map((name) => [name, KINDS.indexOf(kind as Kind)] as const)));
const ELEMENTWISE = KINDS.indexOf('elementwise');

/** The family of an operation by its name; the tag of its JSON tells elementwise functions from unknown ones. */
export function kindOf(name: string): number {
  return BY_NAME.get(name) ?? (/^[a-z0-9_]{2,24}$/.test(name) ? ELEMENTWISE : 0);
}

/** The family of a kernel label such as `add+tanh float32`: the weightiest of its operations. */
export function kindOfKernel(label: string): number {
  let best = 0;
  for (const name of label.split(/[\s+]+/, 12)) best = Math.max(best, BY_NAME.get(name) ?? 0);
  return best || (/^[a-z0-9_+]+ /.test(label) ? ELEMENTWISE : 0);
}
