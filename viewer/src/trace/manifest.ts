// Reads manifest.json: every field is checked, unknown ones are ignored, missing ones get a neutral value.

import { TraceError } from './error';

export interface Device {
  device: string;
  type: string;
  name: string;
  architecture: string;
  backend: string;
  driver: string;
  memoryBytes: number;
  features: string[];
  roof: { bytesPerSecond: number; flopsPerSecond: number } | null;
}
export interface Region {
  id: number;
  parent: number | null;
  name: string;
  start: number;
  end: number;
  thread: string;
}
export interface SourceFile {
  file: string;
  path: string;
  parts: { first: number; lines: string[] }[];
}
export interface Manifest {
  writer: string;
  program: { name: string; args: string[]; pid: number };
  machine: { os: string; arch: string; cpu: string; cores: number; memoryBytes: number };
  devices: Device[];
  streams: { index: number; device: string; label: string }[];
  mode: string;
  startUnixNs: number;
  duration: number;
  memory: { activeAtStart: number; cacheAtStart: number; activeAtEnd: number; cacheAtEnd: number; peak: number; limit: number };
  counts: Record<string, number>;
  truncated: boolean;
  leftOut: string[];
  partial: boolean;
  native: { kind: string; path: string; ok: boolean; message: string }[];
  regions: Region[];
  /** Lines around call sites. */
  sources: SourceFile[];
}

export const VERSION = 2;
type Json = Record<string, unknown>;

const bad = (key: string, wanted: string) => new TraceError(`manifest.json: \`${key}\` should be ${wanted}.`, 'The file was not written by Pellucid.');

/** Reads the fields of one JSON object. */
class Fields {
  private json: Json;
  constructor(
    value: unknown,
    private where: string,
  ) {
    if (value === undefined || value === null) value = {};
    if (typeof value !== 'object' || Array.isArray(value)) throw bad(where, 'an object');
    this.json = value as Json;
  }
  private get(key: string): unknown {
    return Object.hasOwn(this.json, key) ? this.json[key] : undefined;
  }
  text(key: string): string {
    const value = this.get(key) ?? '';
    if (typeof value !== 'string') throw bad(`${this.where}.${key}`, 'text');
    return value;
  }
  number(key: string): number {
    const value = this.get(key) ?? 0;
    if (typeof value !== 'number' || !Number.isFinite(value)) throw bad(`${this.where}.${key}`, 'a number');
    return value;
  }
  flag(key: string): boolean {
    const value = this.get(key) ?? false;
    if (typeof value !== 'boolean') throw bad(`${this.where}.${key}`, 'true or false');
    return value;
  }
  list<T>(key: string, read: (value: unknown, where: string) => T): T[] {
    const value = this.get(key) ?? [];
    if (!Array.isArray(value)) throw bad(`${this.where}.${key}`, 'a list');
    return value.map((v, i) => read(v, `${this.where}.${key}[${i}]`));
  }
  texts(key: string): string[] {
    return this.list(key, (value, where) => {
      if (typeof value !== 'string') throw bad(where, 'text');
      return value;
    });
  }
  object(key: string): Fields {
    return new Fields(this.get(key), `${this.where}.${key}`);
  }
  has(key: string): boolean {
    return this.get(key) !== undefined && this.get(key) !== null;
  }
  keys(): string[] {
    return Object.keys(this.json);
  }
}

export function readManifest(text: string): Manifest {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new TraceError('manifest.json is not valid JSON.', 'The file was not written by Pellucid.');
  }
  const m = new Fields(json, 'manifest');
  if (m.text('format') !== 'pltrace') throw new TraceError('This ZIP archive is not a Pellucid trace: its manifest has another format.');
  const version = m.number('version');
  if (version > VERSION) {
    throw new TraceError(`This trace has version ${version}; this viewer reads up to ${VERSION}.`, 'Open it with the viewer of the Pellucid that wrote it (`pellucid view`).');
  }
  const [program, machine, memory, window, counts] = ['program', 'machine', 'memory', 'window', 'counts'].map((key) => m.object(key)) as [Fields, Fields, Fields, Fields, Fields];
  return {
    writer: m.text('writer'),
    program: { name: program.text('name'), args: program.texts('args'), pid: program.number('pid') },
    machine: { os: machine.text('os'), arch: machine.text('arch'), cpu: machine.text('cpu'), cores: machine.number('cores'), memoryBytes: machine.number('memory_bytes') },
    devices: m.list('devices', device),
    streams: m.list('streams', (value, where) => {
      const s = new Fields(value, where);
      return { index: s.number('index'), device: s.text('device'), label: s.text('label') };
    }),
    mode: m.text('mode'),
    startUnixNs: window.number('start_unix_ns'),
    duration: Math.max(0, window.number('duration_ns')),
    memory: {
      activeAtStart: memory.number('active_at_start'), cacheAtStart: memory.number('cache_at_start'), activeAtEnd: memory.number('active_at_end'),
      cacheAtEnd: memory.number('cache_at_end'), peak: memory.number('peak'), limit: memory.number('limit'),
    },
    counts: Object.fromEntries(counts.keys().map((key) => [key, counts.number(key)])),
    truncated: m.flag('truncated'),
    leftOut: m.texts('left_out'),
    partial: m.flag('partial'),
    native: m.list('native', (value, where) => {
      const n = new Fields(value, where);
      return { kind: n.text('kind'), path: n.text('path'), ok: n.flag('ok'), message: n.text('message') };
    }),
    regions: m.list('regions', (value, where) => {
      const r = new Fields(value, where);
      return { id: r.number('id'), parent: r.has('parent') ? r.number('parent') : null, name: r.text('name'), start: r.number('start_ns'), end: r.number('end_ns'), thread: r.text('thread') };
    }),
    sources: m.list('sources', (value, where) => {
      const s = new Fields(value, where);
      const part = (value: unknown, where: string) => {
        const p = new Fields(value, where);
        return { first: p.number('first'), lines: p.texts('lines') };
      };
      return { file: s.text('file'), path: s.text('path'), parts: s.list('parts', part) };
    }),
  };
}

function device(value: unknown, where: string): Device {
  const d = new Fields(value, where);
  const roof = d.object('roof');
  const [bytesPerSecond, flopsPerSecond] = [roof.number('bytes_per_second'), roof.number('flops_per_second')];
  return {
    device: d.text('device'), type: d.text('type'), name: d.text('name'), architecture: d.text('architecture'), backend: d.text('backend'),
    driver: d.text('driver'), memoryBytes: d.number('memory_bytes'), features: d.texts('features'),
    // A machine that was not measured has none.
    roof: bytesPerSecond > 0 && flopsPerSecond > 0 ? { bytesPerSecond, flopsPerSecond } : null,
  };
}
