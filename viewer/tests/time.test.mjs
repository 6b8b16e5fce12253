// Ranges of time and causes, waits, searching by type, shape and stream, and the tensor's ways to look.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { give, open, settle, shot, show, start, trace } from './browser.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

test('a range has totals, its kernels and the causes of idle time', async () => {
  const { tab, events, close } = await open(browser, { hash: '#view=timeline' });
  await give(tab, trace('sample'));
  const canvas = tab.locator('.surface canvas');
  await canvas.press('r');
  const card = tab.locator('.range');
  assert.match(await card.innerText(), /87 launches/);
  assert.match(await card.innerText(), /matmul float32 96x128x128[\s\S]*27/);
  assert.match(await card.innerText(), /1 prefetch[\s\S]*waiting for another stream/);
  await shot(tab, 'range');
  await tab.getByRole('button', { name: 'Close the range' }).click();
  assert.equal(await card.count(), 0);
  const box = await canvas.boundingBox();
  await tab.keyboard.down('Shift');
  await tab.mouse.move(box.x + 300, box.y + 150);
  await tab.mouse.down();
  await tab.mouse.move(box.x + 420, box.y + 150, { steps: 4 });
  await tab.mouse.up();
  await tab.keyboard.up('Shift');
  const part = Number(/(\d+) launch/.exec(await card.innerText())[1]);
  assert.ok(part > 0 && part < 87, `${part} launches in the range`);
  await close();
  assert.deepEqual(events, []);
});

test('the longest chain is drawn on demand', async () => {
  const { tab, close } = await open(browser, { hash: '#view=timeline' });
  await give(tab, trace('sample'));
  const canvas = tab.locator('.surface canvas');
  const pixels = () => canvas.evaluate((element) => element.toDataURL());
  const before = await pixels();
  await canvas.press('p');
  assert.equal(await tab.locator('#chain').getAttribute('aria-pressed'), 'true');
  await settle(tab);
  assert.notEqual(await pixels(), before);
  await shot(tab, 'chain');
  await close();
});

test('waits are found and selected, with what they cost', async () => {
  const { tab, close } = await open(browser, { hash: '#view=timeline' });
  await give(tab, trace('waits'));
  await tab.keyboard.press('/');
  await tab.keyboard.type('wait');
  assert.match(await tab.locator('.search output').innerText(), /2 waits/);
  await tab.keyboard.press('Enter');
  const panel = tab.locator('.inspector');
  assert.match(await panel.innerText(), /Wait[\s\S]*Who\s*the host[\s\S]*For\s*stream 0/);
  assert.match(await panel.innerText(), /Without it\s*−/);
  await tab.keyboard.press('Enter');
  assert.match(await panel.innerText(), /Who\s*stream 0[\s\S]*nothing behind it reads from that stream/);
  assert.match(tab.url(), /wait=1/);
  await close();
});

test('the search knows types, shapes and streams', async () => {
  const { tab, close } = await open(browser, { hash: '#view=timeline' });
  await give(tab, trace('sample'));
  const found = async (text) => {
    await tab.locator('#search').fill(text);
    return tab.locator('.search output').innerText();
  };
  assert.match(await found('float64'), /3 ops/);
  assert.match(await found('[96, 96]'), /\b[1-9]\d* ops/);
  assert.match(await found('96x96'), /\b[1-9]\d* ops/);
  assert.match(await found('prefetch'), /\b[1-9]\d* launches/);
  assert.match(await found('stream 2'), /6 launches/);
  await close();
});

test('launches that took too long are told with their cause', async () => {
  const { tab, close } = await open(browser);
  await give(tab, trace('slow_first'));
  assert.match(await tab.locator('.insights').innerText(), /2 launches took more than three times as long as others of their kernel: 1 were the first of their kernel/);
  await close();
});

test('a tensor is zoomed into, seen as an image and a curve, and compared with another', async () => {
  const { tab, events, close } = await open(browser, { hash: '#view=tensor&op=100' });
  await give(tab, trace('sample'));
  await tab.waitForSelector('.heat canvas');
  const map = tab.locator('.heat canvas');
  const pixels = () => map.evaluate((element) => element.toDataURL());
  let before = await pixels();
  const changed = async (what) => {
    await settle(tab);
    const now = await pixels();
    assert.notEqual(now, before, what);
    before = now;
  };
  await shot(tab, 'tensor-values');
  await map.press('w');
  await changed('a key zooms');
  await map.press('ArrowRight');
  await changed('a key moves');
  await map.press('Home');
  await changed('Home shows all');
  for (const mode of ['Image', 'Curve', 'Values']) {
    await tab.getByRole('button', { name: mode, exact: true }).click();
    await changed(mode);
  }
  const histogram = tab.locator('.histogram canvas');
  const box = await histogram.boundingBox();
  await tab.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  assert.match((await tab.locator('.tip').allInnerTexts()).join(), /elements?\s*from/);
  await tab.getByRole('button', { name: 'Log', exact: true }).click();
  await tab.getByRole('button', { name: 'Compare with this' }).click();
  await tab.evaluate(() => (location.hash = '#view=tensor&op=101'));
  await tab.locator('.badge', { hasText: 'difference to layer 0 wq #100' }).waitFor();
  await shot(tab, 'tensor-difference');
  assert.deepEqual(events, []);
  await close();
});

test('one NaN among millions of elements is seen in the map', async () => {
  const { tab, close } = await open(browser, { hash: '#view=tensor&op=1' });
  await give(tab, trace('needle'));
  await tab.waitForSelector('.heat canvas');
  await tab.waitForFunction(() => {
    const canvas = document.querySelector('.heat canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < data.length; i += 4) if (data[i] === 214 && data[i + 1] === 0 && data[i + 2] === 170) return true;
    return false;
  });
  await show(tab, 'summary');
  assert.match(await tab.locator('.story').innerText(), /Array #1 came with 1 NaN/);
  await close();
});

test('the graph shows only ancestors or descendants of the selection, and a map of itself', async () => {
  const { tab, events, close } = await open(browser, { hash: '#view=dependencies&op=221' });
  await give(tab, trace('sample'));
  await tab.waitForSelector('[data-nodes="124"]');
  assert.equal(await tab.locator('.minimap').isVisible(), true);
  await shot(tab, 'graph-nan');
  await tab.getByRole('button', { name: 'Descendants' }).click();
  await tab.waitForSelector('[data-nodes="3"]');
  await tab.getByRole('button', { name: 'Descendants' }).click();
  await tab.waitForSelector('[data-nodes="124"]');
  await tab.getByRole('button', { name: 'Ancestors' }).click();
  await tab.waitForFunction(() => Number(document.querySelector('.surface').dataset.nodes) < 124);
  await shot(tab, 'graph-ancestors');
  assert.deepEqual(events, []);
  await close();
});
