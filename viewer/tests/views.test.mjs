// Each view on a small training run: what must be on screen, and that one selection links them all.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { give, open, settle, shot, show, start, trace } from './browser.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

for (const scheme of ['light', 'dark']) {
  describe(`in ${scheme} colours`, () => {
    let tab, events, close;
    before(async () => {
      ({ tab, events, close } = await open(browser, { scheme }));
      await give(tab, trace('sample'));
    });
    after(() => close());
    const text = (selector) => tab.locator(selector).first().innerText();
    const row = (table, words) => tab.getByRole('grid', { name: table }).getByRole('row').filter({ hasText: words }).first();

    test('the summary has totals, insights, devices and the most expensive kernels', async () => {
      assert.equal(await tab.locator('html').getAttribute('data-theme'), scheme);
      assert.match(await text('.figures'), /87\s*launches/);
      assert.match(await text('.figures'), /124\s*operations/);
      assert.match(await text('.story'), /First made by normalise #221 divide at examples\/train\.rs:\d+: 1 NaN and 95 infinite/);
      assert.match(await text('.story'), /Element \[0, 5\] is -?inf, from -?[\d.]+ \(array 219\), 0 \(array 220\)/);
      assert.match(await text('.story'), /Passed on by 1 later operation/);
      assert.match(await text('.insights:not(.story)'), /3 launches ran on the CPU although their stream is on a GPU[\s\S]*−[\d.]+ µs/);
      assert.match(await text('.about'), /Example GPU · vulkan/);
      assert.match(await row('Kernels by time', 'matmul float32 96x128x128').innerText(), /27/);
      await shot(tab, `summary-${scheme}`);
    });

    test('the timeline selects a launch by keyboard, shows its facts and its links', async () => {
      await show(tab, 'timeline');
      const canvas = tab.locator('.surface canvas');
      await canvas.press('ArrowRight');
      assert.match(await text('.inspector'), /Launch\s*#\d+/);
      await canvas.press('ArrowRight');
      assert.match(await text('.inspector'), /matmul float32 96x128x128/);
      const wide = await text('#range');
      for (let i = 0; i < 4; i++) await canvas.press('w');
      await tab.waitForFunction((before) => document.querySelector('#range').textContent !== before, wide);
      await canvas.press('Home');
      await settle(tab);
      await shot(tab, `timeline-${scheme}`);
    });

    test('a tooltip gives exact numbers', async () => {
      const box = await tab.locator('.surface canvas').boundingBox();
      let tip = '';
      for (let x = 200; x < 900 && !/ns\)/.test(tip); x += 7) {
        await tab.mouse.move(box.x + x, box.y + 130);
        tip = (await tab.locator('.tip').allInnerTexts()).join();
      }
      assert.match(tip, /\d µs\s+\([\d,]+ ns\)/);
      await tab.mouse.move(5, 5);
    });

    test('the search finds launches by name and steps through them', async () => {
      await tab.keyboard.press('/');
      await tab.keyboard.type('softmax');
      assert.match(await text('.search output'), /9 launches, 9 ops/);
      await tab.keyboard.press('Enter');
      assert.match(await text('.inspector'), /divide\+softmax float32/);
      await shot(tab, `search-${scheme}`);
      await tab.keyboard.press('Escape');
      assert.equal(await tab.locator('.search output').count(), 0);
    });

    test('the graph follows the selection, has three levels and opens regions', async () => {
      await show(tab, 'dependencies');
      await tab.waitForSelector('[data-nodes="124"]');
      assert.match(await text('.inspector'), /softmax/);
      await tab.getByRole('img', { name: /^Graph of operations/ }).press('ArrowUp');
      assert.match(await text('.inspector h2'), /divide/);
      await settle(tab);
      await shot(tab, `dependencies-${scheme}`);
      await tab.getByRole('button', { name: 'Launches' }).click();
      await tab.waitForSelector('[data-nodes="97"]');
      await tab.getByRole('button', { name: 'Regions' }).click();
      await tab.waitForFunction(() => Number(document.querySelector('.surface').dataset.nodes) < 10);
      await settle(tab);
      await shot(tab, `regions-${scheme}`);
      await tab.getByRole('button', { name: 'Operations' }).click();
      await tab.waitForSelector('[data-nodes="124"]');
    });

    test('a kernel has its source in colours, its place in the roofline, and its rates', async () => {
      await show(tab, 'kernels');
      await row('Kernels', 'tanh+add float32').click();
      await tab.waitForSelector('.source .keyword');
      assert.match(await text('.source'), /@compute @workgroup_size\(64\)/);
      assert.match(await text('.source'), /tanh\(x\) \+ y/);
      assert.equal(await tab.locator('.roofline .point').count(), 13);
      assert.match(await row('Kernels', 'tanh+add float32').innerText(), /4\d\.\d[\s\S]*18\.\d/);
      await shot(tab, `kernels-${scheme}`);
    });

    test('memory shows buffers, their owners and what was held at the peak', async () => {
      await show(tab, 'memory');
      assert.match(await text('.tools'), /1\.\d\d MiB\s*peak/);
      assert.match(await tab.locator('.table').first().innerText(), /Held at the peak\s*\d+ buffers, 1\.\d\d MiB\n/);
      await row('Held at the peak', 'layer 0 wq').click();
      assert.match(await text('.inspector'), /Buffer 1[\s\S]*layer 0 wq/);
      await shot(tab, `memory-${scheme}`);
    });

    test('a tensor has statistics, a heat map and a map of its NaN', async () => {
      await show(tab, 'tensor');
      const grid = tab.getByRole('grid', { name: 'Arrays' });
      await grid.focus();
      await grid.press('End');
      await tab.locator('.tensor h2', { hasText: 'predictions #223' }).waitFor();
      await tab.evaluate(() => (location.hash = '#view=tensor&op=221'));
      await tab.waitForSelector('.tensor .badge.bad');
      assert.match(await text('.stats'), /NaN\s*1\s*Inf\s*95/);
      await tab.getByRole('button', { name: 'NaN map' }).click();
      await settle(tab);
      const pink = await tab.locator('.heat canvas').evaluate((canvas) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let found = 0;
        for (let i = 0; i < data.length; i += 4) if (data[i] === 214 && data[i + 1] === 0 && data[i + 2] === 170) found++;
        return found;
      });
      assert.ok(pink > 0, 'the NaN is marked');
      await shot(tab, `tensor-${scheme}`);
    });

    test('a second trace is compared in structure, time, memory and numbers', async () => {
      await give(tab, trace('changed'), true);
      const page = await text('.compare');
      assert.match(page, /Launches\s*87\s*90\s*\+3\.4 %/);
      assert.match(page, /Structure\s*3 differences, 124 correspond/);
      assert.match(await row('Structure', 'abs').innerText(), /second \(added\)/);
      assert.match(page, /Numbers\s*\d+ compared: \d+ the same to the last bit, \d+ close, \d+ different/);
      assert.match(await row('Time by kernel', 'abs float32').innerText(), /new/);
      await shot(tab, `compare-${scheme}`);
    });

    test('nothing unexpected happened', () => assert.deepEqual(events, []));
  });
}

test('the address carries view and selection both ways', async () => {
  const { tab, events, close } = await open(browser, { hash: '#op=140' });
  await give(tab, trace('sample'));
  assert.equal(await tab.locator('#tab-timeline').getAttribute('aria-selected'), 'true');
  assert.match(await tab.locator('.inspector h2').first().innerText(), /attention 2/);
  await show(tab, 'kernels');
  assert.equal(new URL(tab.url()).hash, '#view=kernels&op=140');
  assert.deepEqual(events, []);
  await close();
});

test('a table is copied as tab-separated text', async () => {
  const { tab, close } = await open(browser);
  await tab.evaluate(() => {
    navigator.clipboard.writeText = async (text) => {
      window.copied = text;
    };
  });
  await give(tab, trace('sample'));
  await tab.getByRole('button', { name: 'Copy the table Streams' }).click();
  const copied = await tab.evaluate(() => window.copied);
  assert.match(copied, /^Stream\tDevice\tBusy\tTime\tLaunches\tIn gaps\n0 main\tDevice\(gpu, 0\)\t/);
  await close();
});

test('an embedded trace opens by itself', async () => {
  const data = readFileSync(trace('sample')).toString('base64');
  const { tab, events, close } = await open(browser);
  const html = readFileSync(new URL('../dist/viewer.html', import.meta.url), 'utf8');
  assert.equal(html.split('<!-- trace -->').length, 2, 'there is one place for the trace');
  const path = new URL('./generated/embedded.html', import.meta.url);
  writeFileSync(path, html.replace('<!-- trace -->', `<script type="application/octet-stream" id="trace">${data}</script>`));
  await tab.goto(path.href);
  await tab.waitForSelector('.figures');
  assert.match(await tab.locator('.figures').innerText(), /87\s*launches/);
  assert.deepEqual(events.filter((event) => !event.includes('embedded.html')), []);
  await close();
});

test('a trace served beside the page is fetched', async () => {
  const files = { '/': readFileSync(new URL('../dist/viewer.html', import.meta.url)), '/trace.pltrace': readFileSync(trace('sample')) };
  const server = createServer((request, reply) => {
    const body = files[request.url.split('?')[0]];
    reply.writeHead(body ? 200 : 404, { 'content-type': request.url.startsWith('/trace') ? 'application/octet-stream' : 'text/html' });
    reply.end(body);
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const url = `http://127.0.0.1:${server.address().port}/`;
  const { tab, close } = await open(browser, { url, hash: '?trace=trace.pltrace' });
  await tab.waitForSelector('.figures');
  assert.match(await tab.locator('.figures').innerText(), /87\s*launches/);
  await close();
  server.closeAllConnections();
  server.close();
});

test('without a trace the page says what to do, and keys work', async () => {
  const { tab, events, close } = await open(browser);
  assert.match(await tab.locator('.empty').innerText(), /Drop a \.pltrace file here/);
  await tab.keyboard.press('?');
  assert.equal(await tab.locator('dialog.help').isVisible(), true);
  await tab.keyboard.press('Escape');
  await shot(tab, 'empty');
  assert.deepEqual(events, []);
  await close();
});

test('the summary prints on paper', async () => {
  const { tab, close } = await open(browser, { scheme: 'dark' });
  await give(tab, trace('sample'));
  await tab.emulateMedia({ media: 'print' });
  assert.equal(await tab.locator('.top nav').isVisible(), false);
  assert.equal(await tab.locator('.insights').first().isVisible(), true);
  await shot(tab, 'print');
  await close();
});
