// One truth: the command, the library in the page and what the page shows say the same of many traces.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { give, here, open, program, settle, shot, show, start, trace } from './browser.mjs';

const root = join(here, '..', '..');
const run = promisify(execFile);
let browser, page;
before(async () => {
  browser = await start();
  page = await open(browser);
});
after(() => browser.close());

/** What the command prints, or why it refuses. */
async function command(...args) {
  const [name, first] = program();
  try {
    const { stdout } = await run(name, [...first, ...args], { cwd: root, maxBuffer: 1 << 28 });
    return { value: JSON.parse(stdout) };
  } catch (error) {
    if (error.code === 1) return { value: JSON.parse(error.stdout) };
    return { refusal: error.stderr };
  }
}

/** The committed module, without a browser. */
async function library(...paths) {
  const files = paths.map((path) => readFileSync(path));
  const module = await WebAssembly.compile(gunzipSync(readFileSync(join(here, '..', 'wasm', 'analysis.wasm.gz'))));
  const read = (slot, offset, target, length) => {
    const part = files[slot].subarray(offset, offset + (length >>> 0));
    new Uint8Array(crate.memory.buffer, target >>> 0, part.length).set(part);
    return part.length;
  };
  const { exports: crate } = await WebAssembly.instantiate(module, { page: { read } });
  const ask = (good) => {
    const text = new TextDecoder().decode(new Uint8Array(crate.memory.buffer, crate.answer() >>> 0, crate.answer_length()));
    return good ? text : Promise.reject(new Error(text));
  };
  for (const [slot, file] of files.entries()) await ask(crate.open(slot, file.length));
  return JSON.parse(await ask(paths.length > 1 ? crate.diff() : crate.analyse(0)));
}

const GOOD = [
  'sample', 'changed', 'streams', 'clean', 'nan_fused', 'nan_view', 'nan_given', 'nan_mask', 'nan_many', 'inf_only', 'two_devices', 'no_memory', 'no_stats', 'empty', 'one_launch', 'held_before',
  'truncated', 'partial', 'fallbacks', 'waits', 'repeats', 'slow_first', 'deep', 'needle',
];
const BAD = ['wrong_types', 'missing_column', 'no_manifest', 'cut_short', 'flipped_bits', 'bomb', 'text_file', 'bad_offsets'];

for (const kind of GOOD) {
  test(`"${kind}": command, library and page agree`, async () => {
    const path = trace(kind);
    const [{ value: said, refusal }, computed] = await Promise.all([command('summary', '--json', path), library(path)]);
    assert.equal(refusal, undefined);
    assert.deepEqual(computed, said, 'the library in the page and the command');
    // One page for all of them: what was open before must not shine through.
    const { tab, events } = page;
    await give(tab, path);
    await show(tab, 'summary');
    const figures = await tab.locator('.figures').innerText();
    assert.match(figures, new RegExp(`\\b${said.totals.counts.launches.toLocaleString('en')}\\s*launches`));
    assert.match(figures, new RegExp(`\\b${said.kernels.length}\\s*kernels`));
    assert.equal(await tab.locator('.figure').last().getAttribute('title'), `${said.memory.peak.toLocaleString('en')} bytes`);
    assert.equal(await tab.locator('.story').count(), said.finite.made > 0 || said.finite.given.some((g) => g.nan > 0) ? 1 : 0);
    if (said.finite.made > 0) assert.match(await tab.locator('.story').innerText(), new RegExp(`First made by .*#${said.finite.makers[0].op}\\b`));
    const list = await tab.locator('.insights:not(.story)').innerText();
    for (const insight of said.insights) assert.ok(list.includes(insight.text), insight.text);
    if (said.kernels.length > 0) {
      await show(tab, 'kernels');
      assert.match(await tab.locator('.table header').first().innerText(), new RegExp(`\\b${said.kernels.length} kernel`));
    }
    if (said.memory.allocations > 0) {
      await show(tab, 'memory');
      assert.match(await tab.locator('.table header').first().innerText(), new RegExp(`\\b${said.memory.held_count.toLocaleString('en')} buffer`));
    }
    if (kind === 'nan_fused') {
      await tab.evaluate((op) => (location.hash = `#view=dependencies&op=${op}`), said.finite.makers[0].op);
      await tab.waitForSelector('[data-layout]');
      await settle(tab);
      await shot(tab, 'spread');
    }
    assert.deepEqual(events, []);
  });
}

for (const kind of BAD) {
  test(`"${kind}": command, library and page refuse it`, async () => {
    const path = trace(kind);
    assert.ok((await command('summary', '--json', path)).refusal, 'the command');
    await assert.rejects(library(path), 'the library');
    await give(page.tab, path);
    assert.equal(await page.tab.locator('.error-panel').count(), 1);
    assert.deepEqual(page.events, []);
  });
}

test('two traces are compared alike', async () => {
  const paths = [trace('sample'), trace('changed')];
  const [{ value: said }, computed] = await Promise.all([command('diff', '--json', '--limit', '100', ...paths), library(...paths)]);
  delete said.failures;
  assert.deepEqual(computed, said);
  const { tab, close } = await open(browser);
  await give(tab, paths[0]);
  await give(tab, paths[1], true);
  const text = await tab.locator('.compare').innerText();
  const all = said.added[0] + said.removed[0] + said.changed[0];
  assert.match(text, new RegExp(`Structure\\s*${all} differences, ${said.aligned} correspond`));
  assert.match(text, new RegExp(`${said.numbers.compared} compared: ${said.numbers.identical} the same to the last bit`));
  await close();
});
