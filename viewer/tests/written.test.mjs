// Traces written by Pellucid's own writer: each view opens, and the numbers are those of the manifest.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { give, here, open, show, shot, start } from './browser.mjs';

/** Traces named in PELLUCID_TRACES, or one from the example of the writer. */
function traces() {
  if (process.env.PELLUCID_TRACES) return process.env.PELLUCID_TRACES.split(':');
  const path = join(here, 'generated', 'written.pltrace');
  mkdirSync(join(here, 'generated'), { recursive: true });
  execFileSync(process.env.CARGO ?? 'cargo', ['run', '--quiet', '--package', 'pellucid-trace', '--example', 'write_sample', '--', path], { cwd: join(here, '..', '..'), stdio: 'inherit' });
  return [path];
}

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

test('traces of the writer open in every view', async () => {
  for (const path of traces()) {
    const { tab, events, close } = await open(browser);
    await give(tab, path);
    assert.equal(await tab.locator('.error-panel').count(), 0, await tab.locator('.error-panel').allInnerTexts().then(String));
    assert.match(await tab.locator('.figures').innerText(), /\d+\s*launches/);
    for (const view of ['timeline', 'dependencies', 'kernels', 'memory', 'tensor']) {
      await show(tab, view);
      await tab.locator('.view > *').first().waitFor();
      if (view === 'timeline') await tab.locator('canvas').press('ArrowRight');
      if (view === 'dependencies') await tab.waitForSelector('[data-layout]');
      await shot(tab, `${basename(path, '.pltrace')}-${view}`);
    }
    assert.match(await tab.locator('.inspector').innerText(), /Launch\s*#\d+/);
    await give(tab, path, true);
    assert.match(await tab.locator('.compare').innerText(), /all \d+ operations correspond/);
    assert.deepEqual(events, []);
    await close();
  }
});
