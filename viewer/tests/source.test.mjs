// Source in view: the lines around a call, and links that open an editor.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { give, open, start, trace } from './browser.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

test('a link opens the chosen editor at the line, and the choice is kept', async () => {
  const { tab, close } = await open(browser, { hash: '#view=source&op=140' });
  await give(tab, trace('sample'));
  const link = tab.locator('.listing a.button');
  const [, line] = (await link.innerText()).match(/line (\d+) in VS Code/);
  assert.equal(await link.getAttribute('href'), `vscode://file/home/me/a%20project/examples/train.rs:${line}`);
  await tab.locator('.listing select').selectOption('idea');
  assert.equal(await link.getAttribute('href'), `idea://open?file=%2Fhome%2Fme%2Fa%20project%2Fexamples%2Ftrain.rs&line=${line}`);
  assert.match(await tab.locator('.inspector a.site').first().getAttribute('href'), /^idea:/);
  await close();
});

test('the panel shows the lines around a call, as text', async () => {
  const { tab, events, close } = await open(browser, { hash: '#view=timeline&op=140' });
  await give(tab, trace('sample'));
  const here = tab.locator('.inspector .snippet .here').first();
  const [, line] = (await tab.locator('.inspector a.site').first().innerText()).match(/examples\/train\.rs:(\d+)/);
  assert.match(await here.innerText(), new RegExp(`^${line}\\s*let step${line} = loss\\(&x, ${line}\\); // <b>not markup</b>`));
  assert.equal(await tab.locator('.snippet b').count(), 0);
  assert.deepEqual(events, []);
  await close();
});
