// The pictures of the README, from the demo: node tests/pictures.mjs demo.pltrace
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { give, here, open, show, start } from './browser.mjs';

const trace = process.argv[2];
if (!trace) throw new Error('name the trace of a demo');
const folder = join(here, '..', '..', 'docs', 'images');
mkdirSync(folder, { recursive: true });
const browser = await start();
const { tab, close } = await open(browser, { size: { width: 1200, height: 640 } });
await give(tab, trace);
for (const view of ['timeline', 'dependencies']) {
  await show(tab, view);
  if (view === 'dependencies') await tab.waitForSelector('[data-layout]');
  await tab.waitForTimeout(300);
  await tab.screenshot({ path: join(folder, `${view}.png`) });
}
await close();
await browser.close();
