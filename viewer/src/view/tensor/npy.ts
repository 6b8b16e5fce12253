// NumPy files: version 1 to 3, little-endian, the types that Pellucid has. Elements are read one by one, so that a
// large array costs no second copy.

import { TraceError } from '../../trace/error';

export interface Tensor {
  shape: number[];
  dtype: string;
  size: number;
  /** The element at a row-major position; magnitudes of complex numbers. */
  at(index: number): number;
}

const SIZES: Record<string, number> = { b1: 1, i1: 1, u1: 1, i2: 2, u2: 2, f2: 2, i4: 4, u4: 4, f4: 4, i8: 8, u8: 8, f8: 8, c8: 8 };

const halves = new Float32Array(65536);
for (let bits = 0; bits < 65536; bits++) {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  halves[bits] = exponent === 31 ? (fraction ? NaN : sign * Infinity) : sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : (2 ** -14 * fraction) / 1024);
}

/** @param dtype the type in the operation's row; tells bfloat16 from the uint16 that it is stored as */
export function readNpy(bytes: Uint8Array<ArrayBuffer>, dtype: string): Tensor {
  const bad = (what: string) => new TraceError(`The tensor cannot be read: ${what}.`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || bytes[0] !== 0x93 || String.fromCharCode(...bytes.subarray(1, 6)) !== 'NUMPY') throw bad('it is not a NumPy file');
  const wide = bytes[6]! >= 2;
  const start = (wide ? 12 : 10) + (wide ? view.getUint32(8, true) : view.getUint16(8, true));
  if (start > bytes.length || start > 100_000) throw bad('its header is longer than the file');
  const header = new TextDecoder('latin1').decode(bytes.subarray(wide ? 12 : 10, start));
  const type = /'descr':\s*'([<>|=]?)([a-z]\d{1,2})'/.exec(header);
  const fortran = /'fortran_order':\s*True/.test(header);
  const dims = /'shape':\s*\(([\d,\s]*)\)/.exec(header);
  if (!type || !dims) throw bad('its header is not understood');
  const [, order, code] = type as unknown as [string, string, string];
  const width = SIZES[code];
  if (!width || (order === '>' && width > 1)) throw bad(`type ${order}${code} is not supported`);
  if (fortran) throw bad('column-major order is not supported');
  const shape = dims[1]!.split(',').map((d) => d.trim()).filter(Boolean).map(Number);
  const size = shape.reduce((product, d) => product * d, 1);
  if (!Number.isSafeInteger(size) || size * width > bytes.length - start) throw bad('it is shorter than its shape says');
  return { shape, dtype: dtype || code, size, at: reader(view, start, code, dtype) };
}

function reader(v: DataView, s: number, code: string, dtype: string): (i: number) => number {
  if (dtype === 'bfloat16' && code === 'u2') {
    const scratch = new DataView(new ArrayBuffer(4));
    return (i) => {
      scratch.setUint16(2, v.getUint16(s + i * 2, true), true);
      return scratch.getFloat32(0, true);
    };
  }
  switch (code) {
    case 'f4': return (i) => v.getFloat32(s + i * 4, true);
    case 'f8': return (i) => v.getFloat64(s + i * 8, true);
    case 'f2': return (i) => halves[v.getUint16(s + i * 2, true)]!;
    case 'i1': return (i) => v.getInt8(s + i);
    case 'u1': case 'b1': return (i) => v.getUint8(s + i);
    case 'i2': return (i) => v.getInt16(s + i * 2, true);
    case 'u2': return (i) => v.getUint16(s + i * 2, true);
    case 'i4': return (i) => v.getInt32(s + i * 4, true);
    case 'u4': return (i) => v.getUint32(s + i * 4, true);
    case 'i8': return (i) => Number(v.getBigInt64(s + i * 8, true));
    case 'u8': return (i) => Number(v.getBigUint64(s + i * 8, true));
    default: return (i) => Math.hypot(v.getFloat32(s + i * 8, true), v.getFloat32(s + i * 8 + 4, true));
  }
}

export interface Statistics {
  min: number;
  max: number;
  mean: number;
  deviation: number;
  nan: number;
  inf: number;
  zero: number;
  /** Counts of finite elements in equal ranges from min to max. */
  histogram: Uint32Array;
}

export function statistics(t: Tensor, bins = 96): Statistics {
  let [min, max, sum, squares, nan, inf, zero, finite] = [Infinity, -Infinity, 0, 0, 0, 0, 0, 0];
  for (let i = 0; i < t.size; i++) {
    const v = t.at(i);
    if (Number.isNaN(v)) nan++;
    else if (!Number.isFinite(v)) inf++;
    else {
      finite++;
      sum += v;
      squares += v * v;
      if (v < min) min = v;
      if (v > max) max = v;
      if (v === 0) zero++;
    }
  }
  const histogram = new Uint32Array(bins);
  const scale = max > min ? bins / (max - min) : 0;
  if (finite > 0) for (let i = 0; i < t.size; i++) {
    const v = t.at(i);
    if (Number.isFinite(v)) histogram[Math.min(bins - 1, Math.floor((v - min) * scale))]!++;
  }
  const mean = sum / finite;
  return { min: finite ? min : NaN, max: finite ? max : NaN, mean, deviation: Math.sqrt(Math.max(0, squares / finite - mean * mean)), nan, inf, zero, histogram };
}
