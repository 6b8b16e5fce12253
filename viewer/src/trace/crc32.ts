// CRC-32 as ZIP uses it, eight bytes at a time.

const TABLES = Array.from({ length: 8 }, () => new Uint32Array(256));
for (let i = 0; i < 256; i++) {
  let c = i;
  for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  TABLES[0]![i] = c >>> 0;
}
for (let i = 0; i < 256; i++) {
  for (let t = 1; t < 8; t++) {
    const before = TABLES[t - 1]![i]!;
    TABLES[t]![i] = ((before >>> 8) ^ TABLES[0]![before & 255]!) >>> 0;
  }
}
const [T0, T1, T2, T3, T4, T5, T6, T7] = TABLES as [Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array];

export function crc32(data: Uint8Array): number {
  let c = 0xffffffff;
  let i = 0;
  for (; i + 8 <= data.length; i += 8) {
    c ^= data[i]! | (data[i + 1]! << 8) | (data[i + 2]! << 16) | (data[i + 3]! << 24);
    c = T7[c & 255]! ^ T6[(c >>> 8) & 255]! ^ T5[(c >>> 16) & 255]! ^ T4[c >>> 24]! ^ T3[data[i + 4]!]! ^ T2[data[i + 5]!]! ^ T1[data[i + 6]!]! ^ T0[data[i + 7]!]!;
  }
  for (; i < data.length; i++) c = T0[(c ^ data[i]!) & 255]! ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}
