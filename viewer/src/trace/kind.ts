// Families of operations. Colours and counts go by family, so that a picture can be read at a glance.

export const KINDS = [
  'other', 'input', 'layout', 'creation', 'random', 'elementwise', 'assembly', 'indexing', 'reduction', 'scan', 'sort', 'normalisation',
  'matmul', 'convolution', 'attention', 'quantized', 'fft', 'linalg', 'custom',
] as const;
export type Kind = (typeof KINDS)[number];

export const KIND_LABELS: Record<Kind, string> = {
  other: 'Other', input: 'Input', layout: 'View / layout', creation: 'Creation', random: 'Random', elementwise: 'Elementwise',
  assembly: 'Copy / assemble', indexing: 'Indexing', reduction: 'Reduction', scan: 'Scan', sort: 'Sort', normalisation: 'Softmax / norm',
  matmul: 'Matrix product', convolution: 'Convolution', attention: 'Attention', quantized: 'Quantized', fft: 'Fourier transform',
  linalg: 'Linear algebra', custom: 'Custom kernel',
};

/** Names of operations by family, for files of version 1, which do not say it. Every other name is elementwise or unknown. */
const NAMES: Partial<Record<Kind, string>> = {
  input: 'input',
  layout: 'reshape transpose broadcast_to slice as_strided view depends contiguous',
  creation: 'full arange',
  random: 'random_bits',
  assembly: 'concatenate pad slice_update',
  indexing: 'take take_along_axis put_along_axis',
  reduction: 'sum prod max min all any logsumexp argmax argmin',
  scan: 'cumsum cumprod cummax cummin logcumsumexp',
  sort: 'sort argsort',
  normalisation: 'softmax',
  matmul: 'matmul addmm',
};
const BY_NAME = new Map(Object.entries(NAMES).flatMap(([kind, names]) => names.split(' ').map((name) => [name, KINDS.indexOf(kind as Kind)] as const)));
const ELEMENTWISE = KINDS.indexOf('elementwise');

/** The family a trace names; one that this version does not know is another. */
export function kindOfFamily(family: string): number {
  return Math.max(0, KINDS.indexOf(family as Kind));
}

/** The family of an operation of a file of version 1, by its name. */
export function kindOf(name: string): number {
  if (name.startsWith('custom ')) return KINDS.indexOf('custom');
  return BY_NAME.get(name) ?? (/^[a-z0-9_]{2,24}$/.test(name) ? ELEMENTWISE : 0);
}

/** The family of a kernel label such as `add+tanh float32`: the weightiest of its operations. */
export function kindOfKernel(label: string): number {
  let best = 0;
  for (const name of label.split(/[\s+]+/, 12)) best = Math.max(best, BY_NAME.get(name) ?? 0);
  return best || (/^[a-z0-9_+]+ /.test(label) ? ELEMENTWISE : 0);
}
