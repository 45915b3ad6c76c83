// File changes on the page: rows of every kind, the diff viewer and what stands in for it, and the pane
// that sums them.

import { changes, importerScene, longPatch, patch, type StagedSession, says } from '@engram/testkit';
import { describe, expect, it } from 'vitest';
import { useWebPages } from './web-pages.js';

const pages = useWebPages();
type Events = ReturnType<typeof importerScene>;
type Page = Awaited<ReturnType<typeof pages.open>>;

async function telling(...events: Events): Promise<StagedSession> {
  const session = await pages.stage.session({ title: 'A session', prompt: 'Begin' });
  await session.play({ type: 'run_started', run_id: 'r1', prompt_id: session.promptId }, ...events);
  return session;
}

const at = (session: StagedSession) => `/sessions/${session.id}`;
const row = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
/** Lines as the diff viewer draws them, in its own shadow tree. */
const drawnLines = (page: Page) => page.locator('diffs-container [data-line]');

describe('file changes', () => {
  it('are rows with what happened and counts, and open to the stored lines with their numbers', async () => {
    const session = await pages.stage.session({ title: 'Port the importer', prompt: 'Move it to streams' });
    await session.play(...importerScene('r1', session.promptId));
    const page = await pages.open(at(session));
    const edited = row(page, 'src/import.ts edited +4 −2');
    await row(page, 'config/importer.json overwritten +2 −3').click();
    await page.getByText('This file was overwritten: 3 lines were replaced').waitFor();
    await page.getByRole('log').evaluate((log) => log.scrollTo(0, 0));
    await edited.focus();
    await page.keyboard.press('e');
    await drawnLines(page).filter({ hasText: 'for await (const row of rows)' }).first().waitFor();
    await page.locator('diffs-container').getByText('45', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'Split' }).first().click();
    expect(await page.getByRole('button', { name: 'Split' }).first().getAttribute('aria-pressed')).toBe('true');
    await page.getByRole('button', { name: 'Wrap' }).first().click();
    await page.getByRole('button', { name: 'Copy path' }).first().waitFor();
    await page.getByRole('button', { name: 'Unified' }).first().click();
    await edited.click();
    expect(await edited.getAttribute('aria-expanded')).toBe('false');
    await row(page, /^test\/fixtures\/.*import-streams\.test\.ts created \+12$/).waitFor();
  });

  it('say what is not known, estimated, shortened, hidden or mixed', async () => {
    const twoHunks = patch('update', ['-a', '+b'], { approximate: true });
    const session = await telling(
      changes('r1', 'c1', 'old.txt', { type: 'write', content: 'hello\n' }),
      changes('r1', 'c2', 'some.ts', { type: 'edit', hunks: [{ old: 'let x = 1;\n', new: 'let x = 2;\nlet y;\n' }] }),
      changes('r1', 'c3', 'huge.txt', twoHunks, { dropped_hunks: 3, dropped_bytes: 20_480 }),
      changes('r1', 'c4', 'dos.txt', patch('update', [' a\r', '-b\r', '+B', ' c\r'])),
      changes('r1', 'c5', 'docs/\u202egnp.exe', patch('create', ['+if (u != "user\u202e \u2066// admin\u2069") {'])),
      changes('r1', 'c6', 'עברית.txt', patch('create', ['+שלום עולם'])),
      changes('r1', 'c7', 'ansi.log', patch('create', ['+\u001b[2Jcleared\u0007'])),
    );
    const page = await pages.open(at(session));
    await row(page, 'old.txt written').click();
    await page.getByText('What stood in this file before is not known').waitFor();
    await row(page, 'old.txt written').click();
    await row(page, 'some.ts edited +2 −1').click();
    await page.getByText(/did not say where in the file this stands/).waitFor();
    await row(page, 'some.ts edited +2 −1').click();
    await row(page, 'huge.txt edited shortened about +1 −1').click();
    await page.getByText('Diff shortened: 3 of 4 hunks not stored').waitFor();
    await page.getByText('Content shortened: 20 KB not stored').waitFor();
    await page.getByText(/The counts are an estimate/).waitFor();
    await row(page, 'huge.txt edited shortened about +1 −1').click();
    await row(page, 'dos.txt edited +1 −1').click();
    await page.getByText(/Mixed line endings/).waitFor();
    await row(page, 'dos.txt edited +1 −1').click();
    await row(page, 'docs/⟨U+202E⟩gnp.exe created +1')
      .or(row(page, /gnp\.exe created \+1/))
      .click();
    await page.getByText(/3 hidden characters made visible/).waitFor();
    expect(await page.locator('body').textContent()).not.toContain('\u202e');
    await row(page, /gnp\.exe created \+1/).click();
    // Right-to-left text that hides nothing is left as it is.
    await row(page, 'עברית.txt created +1').click();
    await drawnLines(page).filter({ hasText: 'שלום עולם' }).waitFor();
    expect(await page.getByText(/made visible/).count()).toBe(0);
  });

  it('ask before a very long one, and stay plain where a patch cannot be read', async () => {
    const broken = { ...patch('update', [' a', '-b', '+c']) };
    const session = await telling(
      changes('r1', 'c1', 'min.js', patch('create', [`+${'x'.repeat(30_000)}`])),
      changes('r1', 'c2', 'big.ts', longPatch(20_000)),
      changes('r1', 'c4', 'vast.ts', longPatch(60_000)),
      changes('r1', 'c3', 'wrong.ts', {
        ...broken,
        type: 'patch',
        kind: 'update',
        additions: 1,
        deletions: 1,
        approximate: false,
        hunks: [{ old_start: 90, old_lines: 44, new_start: 7, new_lines: 2, lines: ['?bad', '-b', '+c'] }],
      }),
      says('r1', 'm9', 'The end.'),
    );
    const page = await pages.open(at(session));
    await row(page, 'min.js created +1').click();
    await page.getByText('This diff has a very long line.').waitFor();
    await row(page, 'min.js created +1').click();
    await row(page, 'wrong.ts edited +1 −1').click();
    await page.locator('diffs-container [data-line], pre > div').filter({ hasText: 'bad' }).first().waitFor();
    await row(page, 'wrong.ts edited +1 −1').click();
    // More than the store keeps of one event: never shown as if it were whole.
    const vast = row(page, /^vast\.ts edited shortened/);
    await vast.click();
    await page.getByText(/Content shortened: .* MB not stored/).waitFor();
    await vast.click();
    const big = row(page, /^big\.ts edited/);
    await big.click();
    await page.getByRole('button', { name: 'Show anyway' }).click();
    await drawnLines(page).filter({ hasText: 'compute(3)' }).first().waitFor();
    // Only what is near the view is in the page.
    expect(await page.locator('*').count()).toBeLessThan(4_000);
    await page.getByText('The end.').waitFor();
  });

  it('fall back to plain lines where the diff viewer cannot be loaded', async () => {
    const session = await telling(changes('r1', 'c1', 'a.ts', patch('update', [' one', '-two', '+three'])));
    const page = await pages.open('/');
    await page.route(/DiffView-.*\.js/, (route) => route.abort());
    await page.goto(`${pages.stage.url}${at(session)}`);
    await row(page, 'a.ts edited +1 −1').click();
    await page.getByText('Shown as plain text: the diff viewer could not be used.').waitFor();
    await page.locator('pre').getByText('+three').waitFor();
  });

  it('stay whole under a policy that forbids WebAssembly, on the page and in the worker', async () => {
    const session = await telling(
      changes('r1', 'c1', 'a.ts', patch('update', [' const a = 1;', '-two();', '+three();'])),
    );
    const page = await pages.open(at(session), {
      policy: "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; worker-src 'self' blob:",
    });
    await row(page, 'a.ts edited +1 −1').click();
    const line = drawnLines(page).filter({ hasText: 'three()' });
    await line.or(page.locator('pre').getByText('+three()')).first().waitFor();
    expect(
      await page.evaluate(() =>
        WebAssembly.compile(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)).then(
          () => 'allowed',
          () => 'forbidden',
        ),
      ),
    ).toBe('forbidden');
    await page.getByText(/broken|could not be shown/).waitFor({ state: 'detached' });
  });

  it('compare words in short lines only: a long changed line opens as fast', async () => {
    const words = (name: string, tail: string) => Array.from({ length: 400 }, (_, i) => `${name}${i}`).join(' ') + tail;
    const session = await telling(
      changes('r1', 'c1', 'short.ts', patch('update', ['-const one = 1;', '+const two = 1;'])),
      changes('r1', 'c2', 'long.ts', patch('update', [`-${words('word', ' a')}`, `+${words('word', ' b')}`])),
    );
    const page = await pages.open(at(session));
    const marks = page.locator('diffs-container [data-diff-span]');
    await row(page, 'short.ts edited +1 −1').click();
    await drawnLines(page).filter({ hasText: 'const two' }).waitFor();
    await expect.poll(() => marks.count()).toBeGreaterThan(0);
    await row(page, 'short.ts edited +1 −1').click();
    await drawnLines(page).first().waitFor({ state: 'detached' });
    const started = Date.now();
    await row(page, 'long.ts edited +1 −1').click();
    await drawnLines(page).filter({ hasText: 'word399 b' }).waitFor();
    // 200 ms on an idle machine; the rest is for what else runs beside the tests.
    expect(Date.now() - started).toBeLessThan(1_500);
    await page.waitForTimeout(300);
    expect(await marks.count()).toBe(0);
  });

  it('are summed in the changes pane: net per file, run by run, opened and closed together, found again', async () => {
    const session = await pages.stage.session({ title: 'Changes', prompt: 'Begin' });
    await session.play(
      ...importerScene('r1', session.promptId),
      { type: 'run_completed', run_id: 'r1', ok: true },
      { type: 'run_started', run_id: 'r2' },
      changes('r2', 'x', 'src/import.ts', patch('update', [' a', '+b'], { start: 44 })),
      ...Array.from({ length: 40 }, (_, i) => says('r2', `p${i}`, `Paragraph ${i}`)),
    );
    const page = await pages.open(at(session));
    await page.getByText('Paragraph 39').waitFor();
    await page.keyboard.press('c');
    const pane = page.getByRole('complementary', { name: 'Changes' });
    await pane.getByRole('heading', { name: '3 files' }).waitFor();
    await pane.getByRole('button', { name: /Go to the last change of src\/import\.ts.*\+5.*−2/ }).click();
    await row(page, 'src/import.ts edited +1').waitFor();
    await pane.getByRole('button', { name: 'By run' }).click();
    await pane.getByRole('region', { name: 'run 2' }).getByRole('button').waitFor();
    await pane
      .getByRole('region', { name: 'run 1' })
      .getByRole('button', { name: /importer\.json/ })
      .click();
    expect(await row(page, 'config/importer.json overwritten +2 −3').getAttribute('aria-expanded')).toBe('true');
    await pane.getByRole('button', { name: 'Close all' }).click();
    await expect
      .poll(() => row(page, 'config/importer.json overwritten +2 −3').getAttribute('aria-expanded'))
      .toBe('false');
    await pane.getByRole('button', { name: 'Open all' }).click();
    await expect.poll(() => page.locator('[data-diff-toggle][aria-expanded="true"]').count()).toBeGreaterThan(0);
    expect(await page.locator('[data-diff-toggle][aria-expanded="false"]').count()).toBe(0);
  });
});
