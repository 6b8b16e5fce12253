// Compare, visually: both timelines over one axis.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { give, open, settle, shot, start, trace } from './browser.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

test('the timelines of two traces stand on one axis, aligned where one likes', async () => {
  const { tab, events, close } = await open(browser);
  await give(tab, trace('sample'));
  await give(tab, trace('changed'), true);
  const canvas = tab.getByRole('img', { name: 'Timelines of both traces' });
  const picture = () => canvas.evaluate((c) => c.toDataURL());
  const plain = await picture();
  await canvas.press('ArrowRight');
  const differs = async (from) => {
    await tab.waitForFunction(([before, name]) => document.querySelector(`canvas[aria-label^="${name}"]`).toDataURL() !== before, [from, 'Timelines']);
    return picture();
  };
  const picked = await differs(plain);
  await tab.getByLabel('Aligned at').selectOption('step 1');
  await differs(picked);
  const text = await canvas.evaluate((c) => c.closest('.panel').innerText);
  assert.match(text, /Timelines/);
  await settle(tab);
  await shot(tab, 'compare-timelines');
  assert.deepEqual(events, []);
  await close();
});
