// Traces of programs that really ran, on the processor and on the GPU: each view opens, and what is on screen is what
// `pellucid summary` says of the file.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { give, here, open, pellucid, show, shot, start } from './browser.mjs';

/** Traces named in PELLUCID_TRACES, or the demo on both devices. */
function traces() {
  if (process.env.PELLUCID_TRACES) return process.env.PELLUCID_TRACES.split(':');
  mkdirSync(join(here, 'generated'), { recursive: true });
  return ['cpu', 'gpu'].map((device) => {
    const path = join(here, 'generated', `demo-${device}.pltrace`);
    if (!existsSync(path)) pellucid('demo', '--device', device, '-o', path);
    return path;
  });
}

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

for (const path of traces()) {
  const name = basename(path, '.pltrace');

  test(`${name}: every view shows what ran`, async () => {
    const said = JSON.parse(pellucid('summary', '--json', path));
    const top = said.kernels[0];
    const { tab, events, close } = await open(browser);
    await give(tab, path);
    assert.equal(await tab.locator('.error-panel').count(), 0, await tab.locator('.error-panel').allInnerTexts().then(String));
    const launches = said.totals.counts.launches;
    assert.match(await tab.locator('.figures').innerText(), new RegExp(`\\b${launches}\\s*launches`));
    assert.match(await tab.locator('.view').innerText(), new RegExp(escaped(top.name)));

    await show(tab, 'kernels');
    const kernels = await tab.locator('.view').innerText();
    for (const kernel of said.kernels.slice(0, 5)) assert.match(kernels, new RegExp(escaped(kernel.name)));
    assert.doesNotMatch(kernels, /NaN/);
    if (name.includes('gpu')) {
      await tab.getByText(top.name).first().click();
      await tab.locator('.view pre').first().waitFor();
      assert.match(await tab.locator('.view pre').first().innerText(), /@compute @workgroup_size/);
    }
    await shot(tab, `${name}-kernels`);

    await show(tab, 'timeline');
    await tab.locator('canvas').press('ArrowRight');
    assert.match(await tab.locator('.inspector').innerText(), /Launch\s*#\d+/);
    await shot(tab, `${name}-timeline`);

    await show(tab, 'dependencies');
    await tab.waitForSelector('[data-layout]');
    await shot(tab, `${name}-dependencies`);

    await show(tab, 'memory');
    await tab.locator('.view > *').first().waitFor();
    assert.match(await tab.locator('.view').innerText(), /MiB/);
    await shot(tab, `${name}-memory`);

    await show(tab, 'tensor');
    await tab.locator('.view > *').first().waitFor();
    await shot(tab, `${name}-tensor`);

    await give(tab, path, true);
    assert.match(await tab.locator('.compare').innerText(), /all \d+ operations correspond/);
    assert.deepEqual(events, []);
    await close();
  });

  test(`${name}: a file that is dropped on the page opens`, async () => {
    const { tab, events, close } = await open(browser);
    const data = readFileSync(path).toString('base64');
    await tab.evaluate(
      ({ data, file }) => {
        const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
        const transfer = new DataTransfer();
        transfer.items.add(new File([bytes], file));
        for (const type of ['dragenter', 'dragover', 'drop']) window.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
      },
      { data, file: basename(path) },
    );
    await tab.locator('.figures').waitFor();
    assert.match(await tab.locator('.figures').innerText(), /\d+\s*launches/);
    assert.deepEqual(events, []);
    await close();
  });
}

/** A name as a pattern that stands for itself. */
function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
