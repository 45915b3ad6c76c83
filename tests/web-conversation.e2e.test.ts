// What an agent did, as a person reads it: runs, tools, file changes of every kind, long sessions,
// text that streams, and content that tries to be more than text.

import {
  calls,
  changes,
  choice,
  importerScene,
  longPatch,
  longScene,
  patch,
  type StagedSession,
  says,
} from '@engram/testkit';
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

/** A whole picture of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

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

describe('the conversation', () => {
  it('shows tools with results, errors first, notices in one line, usage, and events of a newer server', async () => {
    const session = await pages.stage.session({ title: 'Tools', prompt: 'Begin' });
    await session.play(
      ...importerScene('r1', session.promptId),
      { type: 'unknown', index: 99, bytes: Uint8Array.of(1, 2) },
      { type: 'run_completed', run_id: 'r1', ok: true },
    );
    const page = await pages.open(at(session));
    await row(page, /^Bash .* failed 14 s$/).click();
    await page.getByText('expected "a" to be "b"').waitFor();
    await page.getByText(/An event this page does not know/).click();
    await page.getByRole('button', { name: 'Reload' }).waitFor();
    // The total in the header, and the run's own in its heading.
    await page.getByText('18k tokens out · $0.41', { exact: true }).waitFor();
    await row(page, /^run 1 · 6 tools · 1 failed .*· 18k tokens out · \$0\.41$/).waitFor();
    await page.getByRole('log').evaluate((log) => log.scrollTo(0, 0));
    const whole = page.getByText(/each call stands in the log with what it was called with/);
    const lines = () => whole.evaluate((element) => element.closest('p')?.clientHeight ?? 0);
    const short = await lines();
    await page.getByRole('button', { name: 'Show all' }).click();
    await expect.poll(lines).toBeGreaterThan(short);
    await row(page, /^run 1 · 6 tools · 1 failed/).click();
    await row(page, /^run 1/).waitFor();
    await expect.poll(() => page.getByText('Read', { exact: true }).count()).toBe(0);
  });

  it('opens 10,000 events at their end, holds few of them, and is searched whole', async () => {
    const session = await pages.stage.session({ title: 'Long', prompt: 'Begin' });
    await session.play(...longScene('r1', session.promptId, 10_000));
    const page = await pages.open(at(session));
    await page
      .getByText(/Step 333\d is done/)
      .last()
      .waitFor();
    expect(await page.getByRole('log').locator('article').count()).toBeLessThan(200);
    await page.keyboard.press('/');
    await page.getByRole('searchbox', { name: 'Search in this session' }).fill('step **1234** is');
    await page.getByText('1 row', { exact: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('1 of 1').waitFor();
    await page.locator('[data-found]').getByText('Step 1234 is done').waitFor();
    // The words themselves are marked, across what Markdown made of them.
    const marked = () =>
      page.evaluate(() => [...(CSS.highlights.get('engram-found') ?? [])].map((range) => String(range)));
    await expect.poll(marked).toEqual(['Step 1234 is']);
    // What arrives below moves nobody who reads above.
    await session.play(says('r1', 'late', 'Something new.'));
    await page.getByRole('button', { name: 'New below' }).click();
    await page.getByText('Something new.').waitFor();
    await page.getByRole('searchbox', { name: 'Search in this session' }).fill('something NEW');
    await expect.poll(marked).toEqual(['Something new']);
    await page.keyboard.press('Escape');
    expect(await marked()).toEqual([]);
  });

  it('shows the end of a long log before its past is there, and moves nobody when the past comes in', async () => {
    const session = await pages.stage.session({ title: 'From the end', prompt: 'Begin' });
    await session.play(...longScene('r1', session.promptId, 3_000));
    const page = await pages.open('/');
    let letThrough: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      letThrough = resolve;
    });
    await page.route(/events\?before=\d{1,6}&/, async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${pages.stage.url}${at(session)}`);
    await page
      .getByText(/Step 99\d is done/)
      .last()
      .waitFor();
    // What only the part that is not there yet says is taken from the server's summary.
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    const log = page.getByRole('log');
    await log.evaluate((element) => element.scrollTo(0, 0));
    await page.getByText('Reading what happened before…').waitFor();
    await log.evaluate((element) => element.scrollTo(0, 300));
    // Two frames: the rows at the new place are drawn and measured.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await page.waitForTimeout(200);
    const step = page.getByText(/Step \d+ is done/).nth(5);
    const [text, before] = [await step.textContent(), await step.boundingBox()];
    letThrough();
    await expect.poll(() => log.evaluate((element) => element.scrollTop)).toBeGreaterThan(5_000);
    const after = await page.getByText(text ?? '', { exact: true }).boundingBox();
    expect(Math.abs((after?.y ?? 0) - (before?.y ?? 0))).toBeLessThan(4);
    await expect
      .poll(async () => {
        await log.evaluate((element) => element.scrollTo(0, 0));
        return row(page, /^run 1 · 1000 tools/).count();
      })
      .toBe(1);
  });

  it('streams text and replaces it by the stored message, once', async () => {
    const session = await telling();
    const page = await pages.open(at(session));
    await page.getByText('run 1').waitFor();
    session.chunk('r1', 'live', 'Streaming **bo');
    await page.getByText(/Streaming/).waitFor();
    session.chunk('r1', 'live', 'ld** words');
    await page
      .locator('[data-live] strong', { hasText: 'bold' })
      .or(page.locator('[data-live] [data-streamdown="strong"]'))
      .first()
      .waitFor();
    await session.play(says('r1', 'live', 'Streaming **bold** words'));
    await page.locator('[data-live]').waitFor({ state: 'detached' });
    expect(await page.getByText(/Streaming/).count()).toBe(1);
  });

  it('keeps messages that wait for the run: changed, withdrawn, and the same after a reload', async () => {
    const session = await telling();
    const page = await pages.open(at(session));
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.keyboard.press('m');
    await page.keyboard.type('And then the changelog');
    await page.keyboard.press('Enter');
    await page.getByText('queued: 1').waitFor();
    await page.getByRole('button', { name: 'Edit queued message' }).click();
    const long = `A longer text ${'word '.repeat(60)}end`;
    await page.getByRole('textbox', { name: 'Queued message' }).fill(long);
    await page.getByRole('button', { name: 'Save' }).click();
    await page
      .getByRole('list', { name: 'Queued messages' })
      .getByText(/A longer text/)
      .waitFor();
    await page.reload();
    await page.getByRole('list', { name: 'Queued messages' }).getByText(long).waitFor();
    await page.getByRole('button', { name: 'Withdraw queued message' }).click();
    await page.getByText('queued: 1').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopping…').waitFor();
    await session.play({ type: 'run_interrupted', run_id: 'r1' });
    await row(page, /stopped$/).waitFor();
  });

  it('takes files by pasting, dropping and picking, and sends them with the message', async () => {
    const session = await telling({ type: 'run_completed', run_id: 'r1', ok: true }, { type: 'harness_idle' });
    const page = await pages.open(at(session));
    const field = page.getByRole('textbox', { name: 'Message' });
    const chosen = page.getByRole('list', { name: 'Files for this message' });
    const send = page.getByRole('button', { name: 'Send' });
    /** As the clipboard or a drag would bring it. */
    const bring = (kind: 'paste' | 'drop', name: string, type: string, base64: string, copies = 1) =>
      field.evaluate(
        (element, file) => {
          const bytes = Uint8Array.from(atob(file.base64), (c) => c.charCodeAt(0));
          const data = new DataTransfer();
          data.items.add(
            new File(
              Array.from({ length: file.copies }, () => bytes),
              file.name,
              { type: file.type },
            ),
          );
          const event =
            file.kind === 'paste'
              ? new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
              : new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
          element.dispatchEvent(event);
        },
        { kind, name, type, base64, copies },
      );
    await field.fill('Look at these');
    await bring('paste', 'image.png', 'image/png', PIXEL);
    await chosen.getByText('70 bytes').waitFor();
    await bring('drop', 'no\u202etes.html', 'text/html', btoa('<script>window.ran=1</script>'));
    await chosen.getByText('29 bytes').waitFor();
    await bring('drop', 'huge.bin', '', btoa('x'.repeat(1_000)), 6_000);
    await chosen.getByText('not attached: larger than 5 MB').waitFor();
    expect(await send.isDisabled()).toBe(true);
    await chosen.getByRole('button', { name: 'Remove huge.bin' }).click();
    // What is stored is there after a reload, like the words.
    await page.reload();
    await chosen.getByText('image.png').waitFor();
    expect(await field.inputValue()).toBe('Look at these');
    const picking = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Attach files' }).click();
    await (await picking).setFiles({ name: 'more.txt', mimeType: 'text/plain', buffer: Buffer.from('more') });
    await chosen.getByText('4 bytes').waitFor();
    await send.click();
    await chosen.waitFor({ state: 'detached' });
    const attached = page.getByRole('list', { name: 'Attached files' });
    const picture = attached.getByRole('img', { name: 'image.png' });
    await expect.poll(() => picture.evaluate((img: HTMLImageElement) => img.naturalWidth)).toBe(1);
    // Anything but an image is a download under its visible name, and is never opened as a page.
    const link = attached.getByRole('link', { name: /no⟨U\+202E⟩tes\.html/ });
    expect(await link.getAttribute('download')).toContain('⟨U+202E⟩');
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
    expect(download.suggestedFilename()).toContain('tes.html');
    const { events } = await pages.stage.desk.readEvents(session.id, 0, 100);
    expect(
      events.map(({ event }) => event).find((event) => event.type === 'prompt_received' && 'attachments' in event),
    ).toMatchObject({
      text: 'Look at these',
      attachments: [{ media_type: 'image/png' }, { media_type: 'text/plain' }, { name: 'more.txt', size: 4 }],
    });
  });

  it('shows images of a result as pictures, and says so where one was not kept', async () => {
    const session = await telling();
    const kept = await pages.stage.desk.putAttachment(session.id, Buffer.from(PIXEL, 'base64'));
    if (!kept.ok) throw new Error(kept.reason);
    const image = { attachment_id: kept.attachment_id, media_type: 'image/png', size: 70 };
    const call = { run_id: 'r1', tool_call_id: 't1', tool_name: 'Screenshot' } as const;
    await session.play(
      { type: 'tool_call_started', ...call },
      {
        type: 'tool_call_completed',
        ...call,
        ok: true,
        duration_ms: 20,
        result_summary: '[image]\n[image]',
        images: [image, { ...image, attachment_id: '0'.repeat(64) }],
      },
    );
    const page = await pages.open(at(session));
    await row(page, /^Screenshot.*2 images/).click();
    const images = page.getByRole('list', { name: 'Images in the result' });
    const picture = images.getByRole('img', { name: 'Image 1' });
    await expect.poll(() => picture.evaluate((img: HTMLImageElement) => img.naturalWidth)).toBe(1);
    await images.getByText('Image 2: no longer kept').waitFor();
  });

  it('offers the code of a message to copy, as it was written', async () => {
    const code = 'for (const x of xs) {\n  await "do"(x);\n}\n';
    const session = await telling(says('r1', 'm1', `Like this:\n\n\`\`\`ts\n${code}\`\`\`\n\nand \`so\`.`));
    const page = await pages.open(at(session), { permissions: ['clipboard-read', 'clipboard-write'] });
    const copy = page.getByRole('button', { name: 'Copy', exact: true });
    await copy.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(code);
    expect(await copy.or(page.getByRole('button', { name: 'Copied' })).count()).toBe(1);
  });

  it('never lets content become markup, wherever it stands', async () => {
    const vectors = [
      '<img src=x onerror="window.ran=1">',
      '</script><script>window.ran=2</script>',
      '<svg/onload=window.ran=3>',
      '<iframe srcdoc="<script>parent.ran=4</script>"></iframe>',
      '[click](javascript:window.ran=5) ![p](https://evil.example/p.png)',
      '<a href="https://evil.example" onmouseover="window.ran=6">x</a><style>*{display:none}</style>',
      '<math><mtext></mtext><mglyph><style><!--</style><img title="--><img src=x onerror=window.ran=7>">',
      '```html\n<img src=x onerror=window.ran=8>\n```',
    ];
    const session = await pages.stage.session({ title: vectors.join(' '), prompt: vectors.join('\n') });
    await session.play(
      { type: 'run_started', run_id: 'r1', prompt_id: session.promptId },
      ...vectors.flatMap((text, i) => [
        says('r1', `m${i}`, text),
        ...calls('r1', { id: `t${i}`, name: text, args: { command: text }, result: text, ok: false }),
        changes('r1', `c${i}`, `${text}.ts`, patch('create', [`+${text.split('\n')[0]}`])),
        { type: 'notice', level: 'warning', code: 'x', message: text } as const,
      ]),
      {
        type: 'user_question',
        run_id: 'r1',
        tool_call_id: 'q1',
        questions: [
          choice(
            vectors.join(' '),
            vectors[0] ?? '',
            vectors.map((label) => ({ label, description: label })),
          ),
        ],
        option_previews: [vectors],
      },
    );
    const page = await pages.open(at(session));
    await page.getByRole('region', { name: /Question/ }).waitFor();
    for (const toggle of await page.locator('summary').all()) await toggle.click();
    await page.keyboard.press('c');
    await page.getByRole('button', { name: 'Open all' }).click();
    const log = page.getByRole('log');
    for (let y = 0; y < 4_000; y += 500) {
      await log.evaluate((element, to) => element.scrollTo(0, to), y);
      for (const tool of await log.locator('button[aria-expanded="false"]').all()) {
        await tool.click({ timeout: 1_000, force: true }).catch(() => undefined);
      }
    }
    const facts = await page.evaluate(() => ({
      ran: 'ran' in window,
      made: document.querySelectorAll('#root :is(img, iframe, script, style, math, [onerror], [onload], [onmouseover])')
        .length,
      links: [...document.querySelectorAll('#root a')].map((a) => a.getAttribute('href') ?? ''),
    }));
    expect(facts.ran).toBe(false);
    expect(facts.made).toBe(0);
    expect(facts.links.filter((href) => !/^(\/sessions\/|https:\/\/evil\.example)/.test(href))).toEqual([]);
  });
});
