// Every screen: three sizes, both themes, fingers, keys alone, the way back, and text that can be read.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { give, open, settle, shot, show, start, trace } from './browser.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

const SIZES = { phone: { width: 390, height: 844 }, laptop: { width: 1024, height: 768 }, wide: { width: 2200, height: 1100 } };
const VIEWS = ['summary', 'timeline', 'dependencies', 'kernels', 'memory', 'tensor', 'source', 'compare'];

for (const [name, size] of Object.entries(SIZES)) {
  for (const scheme of ['light', 'dark']) {
    test(`on a ${name} screen in ${scheme} colours, nothing lies outside and every view has room`, async () => {
      const { tab, events, close } = await open(browser, { scheme, size });
      await give(tab, trace('sample'));
      for (const view of VIEWS) {
        await show(tab, view);
        if (view === 'timeline') await tab.locator('.surface canvas').press('ArrowRight');
        const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= size.width, `${view} is ${wide} pixels wide`);
        const main = await tab.locator('main').boundingBox();
        assert.ok(main.width >= Math.min(size.width * 0.6, 700) && main.height >= 240, `${view} has ${main.width} × ${main.height}`);
        await shot(tab, `${name}-${view}-${scheme}`);
      }
      assert.deepEqual(events, []);
      await close();
    });
  }
}

test('the panel folds to a strip, by button and by key, and stays folded', async () => {
  const { tab, close } = await open(browser, { hash: '#view=timeline' });
  await give(tab, trace('sample'));
  const width = async () => (await tab.locator('main').boundingBox()).width;
  const before = await width();
  await tab.getByRole('button', { name: 'Fold the panel' }).click();
  assert.ok((await width()) > before + 200);
  await show(tab, 'memory');
  assert.equal(await tab.locator('.inspector.folded').count(), 1);
  await tab.keyboard.press('i');
  assert.equal(await tab.locator('.inspector.folded').count(), 0);
  await close();
});

test('two fingers zoom, one moves, a tap selects', async () => {
  const { tab, close } = await open(browser, { size: SIZES.phone, hash: '#view=timeline' });
  await give(tab, trace('sample'));
  const range = () => tab.locator('#range').innerText();
  const all = await range();
  const fingers = (type, points) => tab.locator('.surface canvas').evaluate((canvas, { type, points }) => {
    const box = canvas.getBoundingClientRect();
    canvas.setPointerCapture = () => {};
    for (const [id, x, y] of points) canvas.dispatchEvent(new PointerEvent(type, { pointerId: id, pointerType: 'touch', clientX: box.left + x, clientY: box.top + y, bubbles: true }));
  }, { type, points });
  await fingers('pointerdown', [[1, 240, 80], [2, 280, 80]]);
  await fingers('pointermove', [[1, 180, 80], [2, 370, 80]]);
  await fingers('pointerup', [[1, 180, 80], [2, 370, 80]]);
  await tab.waitForFunction((before) => document.querySelector('#range').textContent !== before, all);
  const number = (text) => parseFloat(text) * (text.includes('ms') ? 1000 : 1);
  assert.ok(number(await range()) < number(all) / 3, `${all} became ${await range()}`);
  assert.match(await tab.locator('.inspector').innerText(), /Nothing is selected/);
  for (let y = 40; y < 300 && !/Launch/.test(await tab.locator('.inspector').innerText()); y += 12) {
    await fingers('pointerdown', [[3, 260, y]]);
    await fingers('pointerup', [[3, 260, y]]);
  }
  assert.match(await tab.locator('.inspector').innerText(), /Launch\s*#\d+/);
  await close();
});

test('Back returns to the view and selection before, Forward goes there again', async () => {
  const { tab, close } = await open(browser);
  await give(tab, trace('sample'));
  await show(tab, 'kernels');
  await show(tab, 'memory');
  await tab.getByRole('grid', { name: 'All buffers' }).getByRole('row').first().click();
  await show(tab, 'timeline');
  const selected = (name) => tab.waitForFunction((name) => document.querySelector(`#tab-${name}`)?.getAttribute('aria-selected') === 'true', name);
  await tab.goBack();
  await selected('memory');
  await tab.waitForFunction(() => /Buffer/.test(document.querySelector('.inspector')?.textContent));
  while (!(await tab.locator('#tab-kernels').getAttribute('aria-selected')).includes('true')) await tab.goBack();
  await tab.goBack();
  await selected('summary');
  await tab.goForward();
  await selected('kernels');
  await close();
});

test('the list of keys makes way for the keys it names', async () => {
  const { tab, close } = await open(browser);
  await give(tab, trace('sample'));
  const help = tab.locator('dialog.help');
  await tab.keyboard.press('?');
  assert.equal(await help.isVisible(), true);
  await shot(tab, 'help');
  await tab.keyboard.press('3');
  assert.equal(await help.isVisible(), false);
  assert.equal(await tab.locator('#tab-dependencies').getAttribute('aria-selected'), 'true');
  await tab.keyboard.press('?');
  await tab.keyboard.press('Escape');
  assert.equal(await help.isVisible(), false);
  await close();
});

test('the whole page works by keys: every control is reached by Tab and shows it', async () => {
  const { tab, close } = await open(browser);
  await give(tab, trace('sample'));
  for (const view of VIEWS.slice(0, 7)) {
    await tab.keyboard.press(String(VIEWS.indexOf(view) + 1));
    await settle(tab);
    const wanted = await tab.evaluate(() => [...document.querySelectorAll('#app button, #app select, #app input, #app canvas, #app [tabindex]')]
      .filter((element) => element.tabIndex >= 0 && !element.disabled && element.checkVisibility()).length);
    const reached = await tab.evaluate(() => {
      document.body.focus();
      const all = [...document.querySelectorAll('#app button, #app select, #app input, #app canvas, #app [tabindex]')].filter((element) => element.tabIndex >= 0 && !element.disabled && element.checkVisibility());
      return all.filter((element) => {
        element.focus();
        return document.activeElement === element;
      }).length;
    });
    assert.equal(reached, wanted, view);
  }
  await close();
});

test('more streams than fit are scrolled to, and the memory below stays free', async () => {
  const { tab, close } = await open(browser, { hash: '#view=timeline' });
  await give(tab, trace('streams'));
  const canvas = tab.locator('.surface canvas');
  await canvas.press('ArrowRight');
  for (let i = 0; i < 59; i++) await canvas.press('ArrowDown');
  assert.match(await tab.locator('.inspector').innerText(), /Stream\s*59 ·/);
  await settle(tab);
  await shot(tab, 'streams');
  await canvas.press('PageUp');
  await canvas.press('PageUp');
  await canvas.press('PageUp');
  await canvas.press('PageUp');
  await settle(tab);
  await shot(tab, 'streams-top');
  const box = await canvas.boundingBox();
  await tab.mouse.move(box.x + 60, box.y + 200);
  await tab.mouse.wheel(0, 400);
  await settle(tab);
  await close();
});

test('text has the contrast of WCAG AA on what it stands on, in both themes', async () => {
  for (const scheme of ['light', 'dark']) {
    const { tab, close } = await open(browser, { scheme });
    const weak = await tab.evaluate(() => {
      const numbers = (name) => {
        const probe = document.body.appendChild(document.createElement('i'));
        probe.style.color = `var(--${name})`;
        const found = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
        probe.remove();
        return found;
      };
      const light = (name) => numbers(name).map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
      const kinds = ['other', 'input', 'layout', 'creation', 'random', 'elementwise', 'assembly', 'indexing', 'reduction', 'scan', 'sort', 'normalisation', 'matmul', 'convolution', 'attention', 'quantized', 'fft', 'linalg', 'custom'].map((kind) => `kind-${kind}`);
      const pairs = [
        ...['text', 'muted', 'accent', 'bad', 'warn', 'good', 'nan'].flatMap((fore) => ['bg', 'panel', 'raised'].map((back) => [fore, back])),
        ...kinds.map((kind) => ['on-kind', kind]), ['accent', 'accent-soft'], ['bad', 'bad-soft'], ['warn', 'warn-soft'], ['text', 'bad-soft'], ['text', 'wait'], ['bg', 'accent'],
        ...['normalisation', 'matmul', 'indexing'].map((kind) => [`kind-${kind}`, 'bg']),
      ];
      return pairs.map(([fore, back]) => [fore, back, contrast(fore, back)]).filter(([, , found]) => found < 4.5);
    });
    assert.deepEqual(weak, [], scheme);
    await close();
  }
});
