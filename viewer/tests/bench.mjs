// Prints what the viewer takes for a trace with a million launches, and fails where it misses its targets.
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { gzipSync } from 'node:zlib';
import { fileURLToPath } from 'node:url';
import { give, open, page, show, start, trace } from './browser.mjs';

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const results = [];
const report = (name, value, unit, target) => {
  results.push(value <= target);
  console.log(`${name.padEnd(44)} ${value.toFixed(value < 100 ? 1 : 0).padStart(8)} ${unit.padEnd(3)} (at most ${target})${value <= target ? '' : '  MISSED'}`);
};

/** Moves the timeline and measures whole frames, with everything the browser does in them. */
async function pan(tab) {
  return tab.evaluate(async () => {
    const canvas = document.querySelector('.surface canvas');
    const surface = document.querySelector('.view').surface;
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const box = canvas.getBoundingClientRect();
    const send = (x) => canvas.dispatchEvent(new WheelEvent('wheel', { deltaX: x, clientX: box.left + 600, clientY: box.top + 200, bubbles: true, cancelable: true }));
    surface.frames.length = 0;
    const frames = [];
    await frame();
    for (let i = 0; i < 90; i++) {
      const began = performance.now();
      send(i < 45 ? 23 : -23);
      await frame();
      await frame();
      frames.push((performance.now() - began) / 2);
    }
    return { frames, paint: [...surface.frames] };
  });
}

console.log(`load of the machine: ${loadavg()[0].toFixed(1)}`);
const browser = await start();
try {
  const large = trace('large');
  const { tab, events } = await open(browser, { hash: '#view=timeline' });
  const began = performance.now();
  await give(tab, large, false, true);
  await tab.waitForFunction(() => document.querySelector('.view')?.surface?.frames.length > 0);
  await tab.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  report('1,000,000 launches: first picture', (performance.now() - began) / 1000, 's', 5);
  await tab.waitForSelector('.progress', { state: 'detached', timeout: 60_000 });
  console.log(`${'  and everything read'.padEnd(44)} ${((performance.now() - began) / 1000).toFixed(1).padStart(8)} s`);
  for (const [name, zoom] of [['all in sight', 0], ['10x closer', 10], ['1000x closer', 20]]) {
    for (let i = 0; i < zoom; i++) await tab.keyboard.press('w');
    const { frames, paint } = await pan(tab);
    report(`1,000,000 launches: frame while moving, ${name}`, median(frames), 'ms', 33);
    console.log(`${'  of it painting'.padEnd(44)} ${median(paint).toFixed(1).padStart(8)} ms`);
  }
  await show(tab, 'dependencies');
  await tab.waitForSelector('[data-layout]');
  console.log(`graph of regions: ${await tab.locator('#graph-note').innerText()}`);
  await tab.close();

  const graph = await open(browser, { hash: '#view=dependencies' });
  await give(graph.tab, trace('graph'));
  await graph.tab.waitForSelector('[data-layout]');
  await graph.tab.getByRole('button', { name: 'Operations' }).click();
  const start100 = performance.now();
  await graph.tab.waitForFunction(() => document.querySelector('.surface')?.dataset.nodes === '100000', null, { timeout: 60_000 });
  const whole = performance.now() - start100;
  report('100,000 operations: layout', Number(await graph.tab.locator('.surface').getAttribute('data-layout')) / 1000, 's', 3);
  report('100,000 operations: from click to picture', whole / 1000, 's', 6);
  report('viewer.html compressed', gzipSync(readFileSync(fileURLToPath(page)), { level: 9 }).length / 1000, 'kB', 400);
  if (events.length + graph.events.length > 0) console.log('unexpected:', events, graph.events);
} finally {
  await browser.close();
}
process.exitCode = results.every(Boolean) ? 0 : 1;
