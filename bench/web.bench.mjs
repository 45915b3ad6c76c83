// The web app in a real Chromium against the real server: what a browser must load, how a long session
// opens and what it holds, how smoothly text streams, how soon diffs show, and what they leave behind.
//
//   npm run bench -- web [-- --repeat 5]

import { readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { changes, launchBrowser, longPatch, longScene, says, startWebStage } from '@engram/testkit';
import { record } from './record.mjs';

const repeatAt = process.argv.indexOf('--repeat');
const repeat = repeatAt === -1 ? 5 : Number(process.argv[repeatAt + 1]);
const EVENTS = 10_000;
const STREAM_SECONDS = 5;
const STREAM_PER_SECOND = 50;
const DIFFS = 100;

const dist = fileURLToPath(new URL('../packages/web/dist/', import.meta.url));
const zipped = (path) => gzipSync(readFileSync(`${dist}${path}`)).length;
const html = readFileSync(`${dist}index.html`, 'utf8');
const mainFiles = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map(([, path]) => path);
const assets = readdirSync(`${dist}assets`);
const chunk = (prefix) =>
  zipped(`assets/${assets.find((name) => name.startsWith(`${prefix}-`) && name.endsWith('.js'))}`);

const series = {};
function add(name, unit, value) {
  series[name] ??= { unit, samples: [] };
  series[name].samples.push(value);
}

const load = [os.loadavg()[0]];
const stage = await startWebStage();
const browser = await launchBrowser();
const context = await stage.signIn(browser);

async function openPage(id) {
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.addInitScript(() => {
    window.longTasks = [];
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longTasks.push(duration);
    }).observe({ entryTypes: ['longtask'] });
  });
  if (id !== undefined) await page.goto(`${stage.url}/sessions/${id}`);
  return page;
}

/** Bytes of JavaScript heap that are really in use. */
async function heapOf(page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await devtools.send('Runtime.getHeapUsage');
  await devtools.detach();
  return usedSize;
}

/** Longest task since the last call; 0 when none took over 50 ms. */
const longestTask = (page) =>
  page.evaluate(() => {
    const longest = Math.max(0, ...window.longTasks);
    window.longTasks = [];
    return longest;
  });

/** Milliseconds from the click until the diff's first lines are drawn, by the page's own clock. */
const clickToDiff = (page, label) =>
  page.evaluate(async (name) => {
    const buttons = [...document.querySelectorAll('button')];
    const button = buttons.filter((each) => each.textContent.includes(name)).at(-1);
    const started = performance.now();
    button.click();
    const drawn = () => {
      const viewer = document.querySelector('diffs-container')?.shadowRoot?.querySelectorAll('[data-line]').length ?? 0;
      return viewer > 10 || [...document.querySelectorAll('pre > div')].length > 10;
    };
    const coloured = () =>
      (document.querySelector('diffs-container')?.shadowRoot?.querySelectorAll('[data-line]').length ?? 0) > 10;
    let shown;
    while (!coloured()) {
      if (shown === undefined && drawn()) shown = performance.now() - started;
      if (performance.now() - started > 60_000) throw new Error('no diff after 60 s');
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    const viewer = performance.now() - started;
    return { shown: shown ?? viewer, viewer };
  }, label);

const long = await stage.session({ title: 'Ten thousand events', prompt: 'Go' });
await long.play(...longScene('r1', long.promptId, EVENTS - 6), says('r1', 'last', 'This is the end of it.'));

for (let i = 0; i < repeat; i += 1) {
  const page = await openPage();
  await page.goto(stage.url);
  const started = performance.now();
  await page.goto(`${stage.url}/sessions/${long.id}`, { waitUntil: 'commit' });
  await page.getByText('This is the end of it.').waitFor();
  add('open 10,000 events to the end', 'ms', performance.now() - started);
  // Each row is at least a line high: with this height the whole past is held, not only the end of it.
  await page.waitForFunction((height) => document.querySelector('[role="log"]').scrollHeight > height, EVENTS * 12);
  add('10,000 events held', 'ms', performance.now() - started);
  await delay(500);
  add('longest task while opening', 'ms', await longestTask(page));
  add('heap with 10,000 events', 'MB', (await heapOf(page)) / 1e6);

  // Streaming into the same long session.
  const text = 'Streaming text arrives in pieces, **bold** words and `code` too. '.split(/(?<= )/);
  await page.evaluate(() => {
    window.frames_ = 0;
    window.counting = true;
    const count = () => {
      window.frames_ += 1;
      if (window.counting) requestAnimationFrame(count);
    };
    requestAnimationFrame(count);
  });
  const from = performance.now();
  for (let n = 0; n < STREAM_SECONDS * STREAM_PER_SECOND; n += 1) {
    long.chunk('r1', `s${i}`, n % 60 === 59 ? '\n\n' : text[n % text.length]);
    await delay(Math.max(0, from + (n + 1) * (1_000 / STREAM_PER_SECOND) - performance.now()));
  }
  const seconds = (performance.now() - from) / 1_000;
  add('frames while streaming 50 events/s', '1/s', (await page.evaluate(() => window.frames_)) / seconds);
  add('longest task while streaming', 'ms', await longestTask(page));
  await page.close();
}

const diffs = await stage.session({ title: 'Diffs', prompt: 'Go' });
await diffs.play(
  { type: 'run_started', run_id: 'r1', prompt_id: diffs.promptId },
  changes('r1', 'a', 'src/short.ts', longPatch(100)),
  changes('r1', 'b', 'src/long.ts', longPatch(20_000)),
);
for (const [file, name] of [
  ['short.ts', '100-line diff'],
  ['long.ts', '20,000-line diff'],
]) {
  for (let i = 0; i < repeat; i += 1) {
    const page = await openPage(diffs.id);
    await page.getByRole('button', { name: new RegExp(file) }).waitFor();
    let label = file;
    if (file === 'long.ts') {
      // It asks before it draws; what counts is the click that draws.
      await page.getByRole('button', { name: /long\.ts/ }).click();
      await page.getByRole('button', { name: 'Show anyway' }).waitFor();
      label = 'Show anyway';
    }
    await longestTask(page);
    const { shown, viewer } = await clickToDiff(page, label);
    add(`first ${name}: lines readable`, 'ms', shown);
    add(`first ${name}: viewer drawn`, 'ms', viewer);
    await delay(1_500);
    add(`longest task of the ${name}`, 'ms', await longestTask(page));
    await page.close();
  }
}

const many = await stage.session({ title: 'Many diffs', prompt: 'Go' });
await many.play(
  { type: 'run_started', run_id: 'r1', prompt_id: many.promptId },
  ...Array.from({ length: DIFFS }, (_, i) => changes('r1', `c${i}`, `src/file-${i}.ts`, longPatch(100))),
);
{
  const page = await openPage(many.id);
  await page.locator('[data-diff-toggle]').first().waitFor();
  /** Opens and closes each diff in turn, wherever it is in the list. */
  const round = (count) =>
    page.evaluate(async (times) => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const until = async (holds) => {
        for (const from = performance.now(); !holds(); await frame()) {
          if (performance.now() - from > 20_000) throw new Error('a diff did not open or close within 20 s');
        }
      };
      const log = document.querySelector('[role="log"]');
      const toggles = () => [...document.querySelectorAll('[data-diff-toggle]')];
      for (let i = 0; i < times; i += 1) {
        log.scrollTo(0, (log.scrollHeight * i) / times);
        for (let n = 0; n < 4; n += 1) await frame();
        const { top, bottom } = log.getBoundingClientRect();
        const seen = toggles().filter((each) => {
          const box = each.getBoundingClientRect();
          return box.top >= top && box.bottom <= bottom;
        });
        seen[i % seen.length].click();
        await until(() => document.querySelector('diffs-container')?.shadowRoot?.querySelector('[data-line]') != null);
        for (const open of toggles().filter((each) => each.ariaExpanded === 'true')) open.click();
        await until(() => document.querySelector('diffs-container') === null);
      }
    }, count);
  // What is loaded once and kept (viewer, highlighter, worker) is no leak: it is there before the count begins.
  await round(5);
  await delay(500);
  const before = await heapOf(page);
  await round(DIFFS);
  await delay(1_000);
  const after = await heapOf(page);
  add('heap before 100 diffs', 'MB', before / 1e6);
  add('heap after 100 diffs', 'MB', after / 1e6);
  await page.close();
}

load.push(os.loadavg()[0]);
const worst = (name) => Math.round(Math.max(...series[name].samples));
const median = (name) => {
  const sorted = [...series[name].samples].sort((a, b) => a - b);
  return Math.round(sorted[Math.floor(sorted.length / 2)]);
};
const growth = series['heap after 100 diffs'].samples[0] / series['heap before 100 diffs'].samples[0];
const against = (value, bound, of = []) => ({ value, of, bound });
record('web', {
  command: 'npm run bench -- web',
  versions: { chromium: browser.version() },
  series,
  ratios: {
    'main bundle, KB gzip': against(mainFiles.reduce((sum, path) => sum + zipped(path), 0) / 1_000, 130, mainFiles),
    'open 10,000 events, ms (median)': against(median('open 10,000 events to the end'), 1_500),
    'heap with 10,000 events, MB': against(worst('heap with 10,000 events'), 60),
    'frames while streaming, 1/s (least)': against(
      Math.round(Math.min(...series['frames while streaming 50 events/s'].samples)),
      40,
    ),
    'longest task while streaming, ms': against(worst('longest task while streaming'), 200),
    'first 100-line diff, ms (median)': against(median('first 100-line diff: lines readable'), 1_000),
    'first 20,000-line diff, ms (median)': against(median('first 20,000-line diff: lines readable'), 1_500),
    'longest task of a diff, ms': against(
      Math.max(worst('longest task of the 100-line diff'), worst('longest task of the 20,000-line diff')),
      300,
    ),
    'heap after 100 diffs ÷ before': against(Math.round(growth * 100) / 100, 1.2),
  },
  facts: {
    'load average, start and end': load.map((value) => value.toFixed(1)).join(' → '),
    'diff viewer chunk, KB gzip': chunk('DiffView') / 1_000,
    'markdown chunk, KB gzip': chunk('MarkdownView') / 1_000,
  },
});
await browser.close();
await stage.stop();
