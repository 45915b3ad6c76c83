// What an agent did, as a person reads it: runs, tools, long sessions, text that streams, files that go
// both ways, and content that tries to be more than text.

import { calls, changes, choice, importerScene, longScene, patch, type StagedSession, says } from '@engram/testkit';
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
      page.evaluate(() =>
        [...(CSS.highlights.get('engram-found') ?? [])].map((range) =>
          range instanceof Range ? range.toString() : 'not a range',
        ),
      );
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
    // The end stays in view while it grows, and nobody is told of something new below.
    const log = page.getByRole('log');
    const below = () => log.evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight);
    for (let i = 0; i < 60; i += 1) session.chunk('r1', 'long', `Line ${i} of a long answer.\n\n`);
    await page.getByText('Line 59 of a long answer.').waitFor();
    await expect.poll(below).toBeLessThan(3);
    expect(await page.getByRole('button', { name: 'New below' }).count()).toBe(0);
    await session.play(says('r1', 'long', 'A long answer.'));
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

  it('shows what the agent thought as one quiet line of its run, whole when opened', async () => {
    const text = 'The parser reads **everything** at once.\n\n- streams are better\n- <b>mind</b> the order';
    const session = await telling(
      { type: 'agent_thought', run_id: 'r1', message_id: 'm1', text, truncated_bytes: 20_480 },
      says('r1', 'm1', 'I start with the parser.'),
    );
    const page = await pages.open(at(session));
    const line = row(page, /^Thought The parser reads/);
    await line.click();
    const log = page.getByRole('log');
    await log.getByRole('listitem').filter({ hasText: '<b>mind</b> the order' }).waitFor();
    await log.getByText('Message shortened: 20 KB not stored').waitFor();
    await row(page, 'Thought').click();
    await line.waitFor();
    await row(page, /^run 1/).click();
    await line.waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await page.keyboard.type('streams are better');
    await page.keyboard.press('Enter');
    await page.locator('[data-found]').getByText('streams are better').waitFor();
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
