// Pure functions, loaded from their sources: layouts, alignment, number formats.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

let server;
const load = (path) => server.ssrLoadModule(`/src/${path}.ts`);
before(async () => {
  server = await createServer({ root: fileURLToPath(new URL('..', import.meta.url)), configFile: false, server: { middlewareMode: true, hmr: false, ws: false, watch: null }, appType: 'custom', logLevel: 'error' });
});
after(() => server.close());

/** The same numbers in every run. */
function random(seed) {
  return () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
}

test('the layout puts producers above readers, and no two nodes on one place', async () => {
  const { layout } = await load('view/dependencies/layout');
  const next = random(5);
  const count = 3000;
  const [from, to] = [[], []];
  for (let node = 1; node < count; node++) {
    for (let k = 0; k < 2; k++) {
      from.push(Math.max(0, node - 1 - Math.floor(next() * 30)));
      to.push(node);
    }
  }
  const lane = Int32Array.from({ length: count }, () => Math.floor(next() * 3));
  const { x, y } = layout({ count, lane, lanes: 3, from: Int32Array.from(from), to: Int32Array.from(to) });
  from.forEach((node, e) => assert.ok(y[node] < y[to[e]], `${node} is above ${to[e]}`));
  assert.equal(new Set(Array.from(x, (value, i) => `${value},${y[i]}`)).size, count);
});

test('buffers that live at the same time never share bytes', async () => {
  const { stack } = await load('view/memory/stack');
  const next = random(9);
  const lives = Array.from({ length: 400 }, () => {
    const start = Math.floor(next() * 1000);
    return { start, end: start + 1 + Math.floor(next() * 200), bytes: 1 + Math.floor(next() * 500) };
  });
  const { offset, height } = stack(lives);
  lives.forEach((a, i) => {
    assert.ok(offset[i] + a.bytes <= height);
    lives.slice(i + 1).forEach((b, k) => {
      const j = i + 1 + k;
      const together = a.start < b.end && b.start < a.end;
      assert.ok(!together || offset[i] + a.bytes <= offset[j] || offset[j] + b.bytes <= offset[i], `${i} and ${j}`);
    });
  });
});

test('a row of pixels holds all busy time', async () => {
  const { pixels } = await load('view/timeline/lod');
  const next = random(2);
  const [start, end, busy] = [[], [], [0]];
  let now = 0;
  for (let i = 0; i < 5000; i++) {
    now += 1 + Math.floor(next() * 9);
    start.push(now);
    now += 1 + Math.floor(next() * 9);
    end.push(now);
    busy.push(busy.at(-1) + end.at(-1) - start.at(-1));
  }
  const track = { start: Float64Array.from(start), end: Float64Array.from(end), busy: Float64Array.from(busy) };
  let sum = 0;
  pixels(track, 0, now + 1, 100, (_time, part) => (sum += part * 100));
  assert.ok(Math.abs(sum - busy.at(-1)) / busy.at(-1) < 0.05, `${sum} is about ${busy.at(-1)}`);
});

test('half and brain floats are read by their bits', async () => {
  const { readNpy } = await load('view/tensor/npy');
  const file = (descr, bits) => {
    const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${bits.length},), }`.padEnd(117) + '\n';
    const bytes = new Uint8Array(10 + header.length + bits.length * 2);
    bytes.set([0x93, ...Buffer.from('NUMPY'), 1, 0, header.length & 255, header.length >> 8, ...Buffer.from(header)]);
    bits.forEach((value, i) => new DataView(bytes.buffer).setUint16(10 + header.length + i * 2, value, true));
    return bytes;
  };
  const halves = readNpy(file('<f2', [0x3c00, 0xc000, 0x7c00, 0x0001]), 'float16');
  assert.deepEqual([0, 1, 2, 3].map(halves.at), [1, -2, Infinity, 2 ** -24]);
  const brain = readNpy(file('<u2', [0x3f80, 0xc000, 0x7fc0]), 'bfloat16');
  assert.deepEqual([0, 1, 2].map(brain.at), [1, -2, NaN]);
  assert.throws(() => readNpy(file('<f2', [1, 2]).subarray(0, 130), 'float16'), /shorter than its shape/);
  assert.throws(() => readNpy(new Uint8Array(20), 'float16'), /not a NumPy file/);
});

test('numbers have units and few digits', async () => {
  const f = await load('format');
  assert.deepEqual([0, 999, 1500, 2.5e6, 61e9].map(f.time), ['0 ns', '999 ns', '1.50 µs', '2.50 ms', '61.0 s']);
  assert.deepEqual([0, 1023, 1536, 3 * 2 ** 30].map(f.bytes), ['0 B', '1023 B', '1.50 KiB', '3.00 GiB']);
  assert.deepEqual([100, 0.01, 2e12].map(f.short), ['100', '0.010', '2.00 T']);
  assert.deepEqual([f.change(100, 110), f.change(100, 50), f.change(0, 5), f.change(7, 7)], ['+10.0 %', '−50.0 %', 'new', '±0']);
  assert.equal(f.plural(1, 'launch', 'launches'), '1 launch');
});
