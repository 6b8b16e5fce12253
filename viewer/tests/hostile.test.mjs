// Broken and malicious traces: an error in words, nothing runs, nothing is loaded.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { give, open, show, shot, start, trace } from './browser.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

const ERRORS = {
  wrong_types: /ops\/000000\.arrow: column `id` should be integers/,
  missing_column: /no column `inputs`/,
  no_manifest: /no manifest\.json/,
  cut_short: /no end: its table of contents is missing/,
  flipped_bits: /cannot be unpacked|checksum is wrong|not where the table of contents says/,
  bomb: /claims to unpack/,
  lying_size: /more than the 1000 bytes it claims/,
  bad_offsets: /points outside of its data|offsets that go backwards/,
  text_file: /not a ZIP archive/,
  newer: /version 3; this viewer reads up to 2/,
  manifest_types: /manifest\.json: `manifest\.\w+` should be/,
  cycle: /depend on later ones or on themselves/,
  unknown_ids: /not in the file/,
  twice: /ids are used twice/,
  fewer_rows: /`ops` has 2 rows instead of 500/,
  missing_member: /`stats` has 0 rows instead of 12/,
};

for (const [kind, message] of Object.entries(ERRORS)) {
  test(`the trace "${kind}" shows an error and nothing else`, async () => {
    const { tab, events, close } = await open(browser);
    await give(tab, trace(kind));
    const panel = tab.locator('.error-panel');
    assert.match(await panel.innerText(), message);
    assert.equal(await tab.locator('.content').isVisible(), false, 'no part of the trace is shown');
    assert.deepEqual(events, []);
    if (kind === 'cycle') await shot(tab, 'error');
    await close();
  });
}

test('markup in every text of a trace stays text in every view', async () => {
  const { tab, events, close } = await open(browser);
  await give(tab, trace('script'));
  for (const view of ['summary', 'timeline', 'dependencies', 'kernels', 'memory', 'tensor', 'compare']) {
    await show(tab, view);
    if (view === 'timeline') await tab.locator('canvas').press('ArrowRight');
    if (view === 'dependencies') await tab.mouse.move(400, 300);
  }
  await show(tab, 'kernels');
  await tab.locator('.table-row').first().click();
  await tab.waitForSelector('.source div');
  assert.match(await tab.locator('.source').innerText(), /<script>alert\("owned"\)<\/script>/);
  assert.match(await tab.locator('.inspector').innerText(), /<script>/);
  assert.equal(await tab.locator('#app script, #app img, #view [onmouseover]').count(), 0);
  await shot(tab, 'hostile-kernels');
  await give(tab, trace('script'), true);
  assert.match(await tab.locator('.compare').innerText(), /<script>/);
  assert.deepEqual(events, []);
  await close();
});

test('a trace that contradicts itself opens only on demand, with the defects named', async () => {
  const { tab, events, close } = await open(browser);
  await give(tab, trace('cycle'));
  await tab.getByRole('button', { name: /Open anyway/ }).click();
  await tab.waitForSelector('.view-summary .figures');
  assert.match(await tab.locator('.banner.bad').innerText(), /Defects were overlooked.*depend on later ones/);
  await show(tab, 'dependencies');
  await tab.waitForSelector('[data-layout]');
  assert.deepEqual(events, []);
  await close();
});

test('the policy of the page forbids inline scripts, evaluation and foreign addresses', async () => {
  const { tab, close } = await open(browser);
  const result = await tab.evaluate(async () => {
    const outcome = {};
    const script = document.createElement('script');
    script.textContent = 'window.ran = true';
    document.body.append(script);
    outcome.inline = window.ran === true;
    // A text handed to a timer is compiled later, when the debugger's exemption has ended.
    setTimeout('window.evaluated = true', 0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    outcome.evaluated = window.evaluated === true;
    outcome.fetched = await fetch('https://example.org/').then(() => true, () => false);
    return outcome;
  });
  assert.deepEqual(result, { inline: false, evaluated: false, fetched: false });
  await close();
});
