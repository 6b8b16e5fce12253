// Starts Chromium on the built page and watches for everything that must not happen: dialogs, requests, errors.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

export const here = dirname(fileURLToPath(import.meta.url));
export const page = pathToFileURL(join(here, '..', 'dist', 'viewer.html')).href;
export const artifacts = join(here, 'artifacts');
const generated = join(here, 'generated');
const CANDIDATES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The command: `PELLUCID` names it, or it is built. */
export function program() {
  return process.env.PELLUCID ? [process.env.PELLUCID, []] : [process.env.CARGO ?? 'cargo', ['run', '--quiet', '--package', 'pellucid-cli', '--']];
}

/** What the command prints. */
export function pellucid(...args) {
  const [name, first] = program();
  return execFileSync(name, [...first, ...args], { cwd: join(here, '..', '..'), encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] });
}

/** Path of a trace, written by make_trace.py when it is missing. */
export function trace(kind) {
  mkdirSync(generated, { recursive: true });
  const path = join(generated, `${kind}.pltrace`);
  if (!existsSync(path)) execFileSync(process.env.PYTHON ?? 'python', [join(here, 'make_trace.py'), kind, path], { stdio: 'inherit' });
  return path;
}

export async function start() {
  const executablePath = process.env.CHROMIUM ?? CANDIDATES.find((path) => existsSync(path));
  if (!executablePath) throw new Error('Chromium is missing: apt-get install chromium, or set CHROMIUM');
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

/** A fresh page; `events` collects what must stay empty. */
export async function open(browser, { hash = '', scheme = 'light', url = page, size = { width: 1400, height: 860 } } = {}) {
  const context = await browser.newContext({ viewport: size, colorScheme: scheme });
  const tab = await context.newPage();
  // A busy machine is slow, not broken.
  tab.setDefaultTimeout(90_000);
  const events = [];
  tab.on('dialog', (dialog) => {
    events.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  tab.on('request', (request) => {
    if (!request.url().startsWith(url.split(/[?#]/)[0]) && !request.url().startsWith('blob:')) events.push(`request: ${request.url()}`);
  });
  tab.on('pageerror', (error) => events.push(`error: ${error.message}`));
  tab.on('console', (message) => message.type() === 'error' && events.push(`console: ${message.text()}`));
  await tab.goto(url + hash);
  return { tab, events, close: () => context.close() };
}

/** Gives a trace to the page the way a person does: by the file picker. */
export async function give(tab, path, second = false, early = false) {
  const before = await tab.evaluate(() => document.documentElement.dataset.opened);
  const [chooser] = await Promise.all([tab.waitForEvent('filechooser'), tab.getByRole('button', { name: second ? 'Compare with…' : /^Open$/ }).click()]);
  await chooser.setFiles(path);
  if (early) await tab.waitForFunction(() => document.querySelector('.error-panel, .view > *'));
  else await tab.waitForFunction((before) => document.documentElement.dataset.opened !== before, before);
  await settle(tab);
}

/** Waits until what was asked for is drawn: two frames, however long they take. */
export function settle(tab) {
  return tab.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn()))));
}

export async function show(tab, view) {
  await tab.locator(`#tab-${view}`).click();
  await settle(tab);
}

export function shot(tab, name) {
  mkdirSync(artifacts, { recursive: true });
  return tab.screenshot({ path: join(artifacts, `${name}.png`) });
}
