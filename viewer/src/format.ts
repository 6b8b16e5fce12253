// Numbers for people: units, few digits, the same everywhere.

const group = new Intl.NumberFormat('en');

/** 1,234,567 */
export const count = (value: number): string => (Number.isFinite(value) ? group.format(value) : '–');

/** One count with its noun: `1 launch`, `2 launches`. */
export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;

function digits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 || value === 0 ? 0 : size >= 10 ? 1 : 2);
}

/** Without zeros at the end of a fraction. */
const trim = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

/** Nanoseconds as ns, µs, ms or s. */
export function time(ns: number): string {
  if (!Number.isFinite(ns)) return '–';
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  if (size < 1e6) return `${digits(ns / 1e3)} µs`;
  if (size < 1e9) return `${digits(ns / 1e6)} ms`;
  return `${digits(ns / 1e9)} s`;
}

/** A moment on an axis whose marks are `step` apart. */
export function moment(ns: number, step: number): string {
  if (ns === 0) return '0';
  const [scale, unit] = Math.abs(ns) < 1e3 ? [1, 'ns'] : Math.abs(ns) < 1e6 ? [1e3, 'µs'] : Math.abs(ns) < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
  const places = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / scale) - 1e-9)));
  return `${(ns / scale).toFixed(places)} ${unit}`;
}

export function bytes(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return unit === 0 ? `${value} B` : `${digits(value)} ${units[unit]}`;
}

/** 1.5 G, 20 M, 3 k */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  for (const [scale, unit] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']] as const) if (size >= scale) return `${digits(value / scale)} ${unit}`;
  return size >= 1 || value === 0 ? trim(digits(value)) : value.toPrecision(2);
}

/** 1.5 GB/s, 20 FLOP */
export function measure(value: number, unit: string): string {
  const text = short(value);
  return /[TGMk]$/.test(text) ? text + unit : `${text} ${unit}`;
}

export const rate = (amount: number, ns: number, unit: string): string => (ns > 0 && amount > 0 ? measure((amount / ns) * 1e9, unit) : '–');
export const percent = (part: number, whole: number): string => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : '–');

/** A change from one value to another, signed. */
export function change(from: number, to: number): string {
  if (from === to) return '±0';
  if (from === 0) return 'new';
  const p = (100 * (to - from)) / from;
  return `${p > 0 ? '+' : '−'}${Math.abs(p) >= 1000 ? count(Math.round(Math.abs(p))) : Math.abs(p).toFixed(1)} %`;
}

/** A value of a tensor. */
export function real(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+∞' : '−∞';
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(4) : trim(value.toPrecision(6));
}
