// The page as a place to live in: the list, the keys, dialogs, a phone, several tabs, and what holds
// for all of it (accessibility, a server that was updated, nothing that moves for those who ask).

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { asks, DATABASE_QUESTION, importerScene, repositoryRoot, type StagedSession, says } from '@engram/testkit';
import { describe, expect, it } from 'vitest';
import { PHONE, useWebPages } from './web-pages.js';

const pages = useWebPages();
type Page = Awaited<ReturnType<typeof pages.open>>;

async function working(title: string): Promise<StagedSession> {
  const session = await pages.stage.session({ title, prompt: `Work on: ${title}` });
  await session.play({ type: 'run_started', run_id: 'r1', prompt_id: session.promptId });
  return session;
}
async function done(title: string): Promise<StagedSession> {
  const session = await working(title);
  await session.play(
    says('r1', 'm', 'Done.'),
    { type: 'run_completed', run_id: 'r1', ok: true },
    { type: 'harness_idle' },
  );
  await session.sleep();
  return session;
}
async function waiting(title: string): Promise<StagedSession> {
  const session = await pages.stage.session({ title, prompt: 'Begin' });
  await session.play(...importerScene('r1', session.promptId), ...asks('r1', 'q1', [DATABASE_QUESTION]));
  await session.sleep();
  return session;
}

const at = (session: StagedSession) => `/sessions/${session.id}`;
const item = (page: Page, group: string, title: string | RegExp) =>
  page.getByRole('region', { name: group, exact: true }).getByRole('link', { name: title });

describe('the session list', () => {
  it('is grouped by state, marks what is done since, and is walked with keys', async () => {
    const [ask, work, sleep] = [await waiting('Asks'), await working('Works'), await done('Sleeps')];
    const failed = await pages.stage.session({ title: 'Fails', prompt: 'Begin' });
    await failed.fail('The agent could not be started after 3 tries.');
    const page = await pages.open('/');
    await item(page, 'Waiting for you', /Asks.*Which database/).waitFor();
    await item(page, 'Working', 'Works').waitFor();
    await item(page, 'Sleeping', 'Sleeps').waitFor();
    await item(page, 'Failed', 'Fails').waitFor();
    expect(await page.title()).toMatch(/^\(\d+\) /);
    expect(await page.locator('link[rel="icon"]').getAttribute('href')).toContain('waiting');

    await work.play(
      { type: 'usage', run_id: 'r1', input_tokens: 1, output_tokens: 9, cache_read_tokens: 0, cache_write_tokens: 0 },
      { type: 'run_completed', run_id: 'r1', ok: true },
      { type: 'harness_idle' },
    );
    const news = item(page, 'Done', /Works.*awake.*done since you looked/);
    await news.waitFor();
    await news.click();
    await page.getByRole('heading', { name: 'Works' }).waitFor();
    await item(page, 'Done', /done since you looked/).waitFor({ state: 'detached' });
    // It stays where it was found while it is open, and rests with the others after.
    await item(page, 'Done', 'Works').waitFor();

    await page.keyboard.press('g');
    await page.keyboard.press('w');
    await page.waitForURL(`**${at(ask)}#question`);
    await item(page, 'Sleeping', 'Works').waitFor();
    await page.keyboard.press('j');
    await page.waitForURL((url) => !url.pathname.endsWith(ask.id));
    await page.keyboard.press('k');
    await page.waitForURL(`**${at(ask)}`);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Go to' }).fill('sleeps');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**${at(sleep)}`);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).getByText('search in the session').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.waitForURL(`**${at(sleep)}`);
    await page.goBack();
    await page.waitForURL(`**${at(ask)}`);

    await page.goto(`${pages.stage.url}${at(failed)}`);
    await page.getByText('The agent could not be started. What you sent is kept').waitFor();
    await page.getByText('The agent could not be started after 3 tries.').waitFor();
    await page.getByText('Stored — it runs once the agent can start').waitFor();
    await page.getByRole('button', { name: 'Start again' }).click();
    await failed.wake();
    await page.getByText('What you sent is kept').waitFor({ state: 'detached' });
  });

  it('starts sessions, offers what was used before, renames, deletes with undo', async () => {
    for (const path of ['/home/dev/src/shop', '/home/dev/src/blog']) {
      await pages.stage.session({ title: path, prompt: 'x', workspace: { kind: 'path', path } });
    }
    const page = await pages.open('/');
    await page.getByRole('button', { name: 'New session' }).first().waitFor();
    await page.keyboard.press('n');
    const dialog = page.getByRole('dialog', { name: 'New session' });
    await dialog.waitFor();
    // The folder used last is there, those before are offered.
    const folder = dialog.getByRole('textbox', { name: 'Folder path' });
    expect(await folder.inputValue()).toBe('/home/dev/src/blog');
    await dialog.getByRole('list', { name: 'Recent' }).getByRole('button', { name: '/home/dev/src/shop' }).click();
    expect(await folder.inputValue()).toBe('/home/dev/src/shop');
    await dialog.getByRole('textbox', { name: 'What should be done?' }).focus();
    await page.keyboard.type('Tidy the build scripts');
    await dialog.getByRole('radio', { name: 'Empty' }).check();
    await dialog.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('heading', { name: 'Tidy the build scripts' }).waitFor();
    await page.getByText('Sent — waking the agent').waitFor();
    await page.getByRole('button', { name: 'New session' }).click();
    await dialog.getByRole('list', { name: 'Started before' }).getByRole('button').click();
    expect(await dialog.getByRole('textbox', { name: 'What should be done?' }).inputValue()).toBe(
      'Tidy the build scripts',
    );
    await dialog.getByRole('radio', { name: 'Git' }).check();
    await dialog.getByRole('button', { name: 'Start' }).click();
    await dialog.getByText('Give an https or ssh address.').waitFor();
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Rename session' }).click();
    await page.getByRole('textbox', { name: 'Session title' }).fill('Build scripts');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Build scripts' }).waitFor();
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';

    await page.getByRole('button', { name: 'Delete session' }).click();
    await page.getByText('Deleted “Build scripts”.').waitFor();
    await page.getByRole('link', { name: /Build scripts/ }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('link', { name: /Build scripts/ }).click();
    expect(await pages.stage.desk.getSession(id)).toBeDefined();
    await page.getByRole('button', { name: 'Delete session' }).click();
    await page.getByText('Deleted “Build scripts”.').waitFor();
    // Leaving the page carries it out.
    await page.goto('about:blank');
    await expect.poll(() => pages.stage.desk.getSession(id), { timeout: 10_000 }).toBeUndefined();
    await page.goto(`${pages.stage.url}/sessions/${id}`);
    await page.getByText('This session is not there').waitFor();
  });

  it('keeps a task with its place as a template, over a reload, until it is forgotten', async () => {
    const page = await pages.open('/');
    const dialog = page.getByRole('dialog', { name: 'New session' });
    const start = async () => {
      await page.getByRole('button', { name: 'New session' }).first().waitFor();
      await page.keyboard.press('n');
    };
    await start();
    await page.keyboard.type('Upgrade what is out of date\nand keep the tests green');
    await dialog.getByRole('radio', { name: 'Git' }).check();
    await dialog.getByRole('textbox', { name: 'Git URL' }).fill('https://example.org/shop.git');
    await dialog.getByRole('button', { name: 'Keep as template' }).click();
    await dialog.getByRole('button', { name: 'Kept as template' }).waitFor();
    await page.reload();
    await start();
    const templates = dialog.getByRole('list', { name: 'Templates' });
    await templates.getByRole('button', { name: 'Upgrade what is out of date', exact: true }).click();
    expect(await dialog.getByRole('textbox', { name: 'What should be done?' }).inputValue()).toContain('tests green');
    expect(await dialog.getByRole('textbox', { name: 'Git URL' }).inputValue()).toBe('https://example.org/shop.git');
    await page.keyboard.press('Escape');
    await start();
    await templates.getByRole('button', { name: 'Forget template “Upgrade what is out of date”' }).click();
    await templates.waitFor({ state: 'detached' });
  });

  it('is filtered by title once it is long', async () => {
    for (let i = 0; i < 8; i += 1) await pages.stage.session({ title: `Chore ${i}`, prompt: 'x' });
    const page = await pages.open('/');
    await page.getByRole('searchbox', { name: 'Filter sessions' }).fill('chore 3');
    await page.getByRole('link', { name: /Chore 4/ }).waitFor({ state: 'detached' });
    expect(await page.getByRole('navigation', { name: 'Sessions' }).getByRole('link').count()).toBe(1);
  });
});

describe('the page', () => {
  it('tells a newcomer without credentials what to do, and marks the demo as one', async () => {
    await pages.stage.setHost({ credentials: 'none' });
    const page = await pages.open('/');
    const banner = page.getByRole('region', { name: 'No model credential found.' });
    await banner.getByText(/ANTHROPIC_API_KEY/).waitFor();
    await banner.getByRole('button', { name: 'Try the demo' }).click();
    await page.getByText('Demo: a scripted model answers here, not a real one.').waitFor();
    await pages.stage.setHost({ credentials: 'environment' });
  });

  it('asks who is there when the browser is not known', async () => {
    const page = await pages.open('/');
    await page.context().clearCookies();
    await page.reload();
    await page.getByRole('heading', { name: 'Not signed in' }).waitFor();
    await page.getByText('engram open').waitFor();
  });

  it('offers a reload when the server is of another version', async () => {
    const page = await pages.open('/');
    await page.getByRole('button', { name: 'New session' }).first().waitFor();
    expect(await page.getByText(/Engram was updated/).count()).toBe(0);
    await page.route('**/api/v1/status', async (route) => {
      const response = await route.fetch();
      const status: unknown = await response.json();
      await route.fulfill({ response, json: { ...Object(status), version: '9.9.9' } });
    });
    await page.reload();
    await page.getByText(/Engram was updated: this page is .*, the server 9\.9\.9\./).waitFor();
    await page.getByRole('button', { name: 'Reload' }).waitFor();
  });

  it('holds one event stream for all tabs of a session, and goes on when the first is closed', async () => {
    const session = await working('Shared');
    const first = await pages.open(at(session));
    await first.getByText('run 1').waitFor();
    const second = await pages.openBeside(first, at(session));
    await second.getByText('run 1').waitFor();
    const held = () => second.evaluate(async () => (await navigator.locks.query()).held?.length ?? 0);
    expect(await held()).toBe(1);
    await session.play(says('r1', 'a', 'One for both.'));
    for (const page of [first, second]) await page.getByText('One for both.').waitFor();
    await first.close();
    await session.play(says('r1', 'b', 'One for the rest.'));
    await second.getByText('One for the rest.').waitFor();
    expect(await second.getByText('One for both.').count()).toBe(1);
  });

  it('is all there at 390 px: list as a sheet, changes as a tab, the card above the composer', async () => {
    const session = await waiting('On the phone');
    const page = await pages.open(at(session), PHONE);
    const card = page.getByRole('region', { name: 'Question: Database' });
    await card.waitFor();
    const [box, composer] = [
      await card.boundingBox(),
      await page.getByRole('textbox', { name: 'Message' }).boundingBox(),
    ];
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual((composer?.y ?? 0) + 1);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await page.getByRole('tab', { name: /Changes/ }).tap();
    await page.getByRole('button', { name: /Go to the last change of src\/import\.ts/ }).tap();
    await page.getByRole('button', { name: 'src/import.ts edited +4 −2', exact: true }).waitFor();
    const open = page.locator('[data-diff-toggle][aria-expanded="true"]');
    await page.getByRole('tab', { name: /Changes/ }).tap();
    await page.getByRole('button', { name: 'Open all' }).tap();
    await expect.poll(() => open.count()).toBeGreaterThan(0);
    await page.getByRole('tab', { name: /Changes/ }).tap();
    await page.getByRole('button', { name: 'Close all' }).tap();
    await expect.poll(() => page.locator('[data-diff-toggle]').count()).toBeGreaterThan(0);
    expect(await open.count()).toBe(0);
    await page.getByRole('button', { name: 'Sessions' }).tap();
    await page
      .getByRole('dialog', { name: 'Sessions' })
      .getByRole('link', { name: /On the phone/ })
      .tap();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await card.getByRole('radio', { name: 'SQLite' }).tap();
    await card.getByRole('button', { name: 'Answer' }).tap();
    await page.getByText('Sent — waking the agent').first().waitFor();
  });

  it('moves nothing for those who ask for less motion', async () => {
    const page = await pages.open(at(await waiting('Still')), { reducedMotion: 'reduce' });
    await page.getByRole('region', { name: 'Question: Database' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
  });

  it('wears the theme that was chosen, also after a reload', async () => {
    const page = await pages.open('/', { colorScheme: 'light' });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    await page.getByRole('combobox', { name: 'Theme' }).selectOption({ label: 'Dark' });
    await expect.poll(background).not.toBe(light);
    const dark = await background();
    await page.reload();
    await expect.poll(background).toBe(dark);
    await page.getByRole('combobox', { name: 'Theme' }).selectOption({ label: 'System' });
    await expect.poll(background).toBe(light);
  });

  it('says on its first page what waits, and leads there', async () => {
    const session = await waiting('Waits longest');
    const page = await pages.open('/');
    await page.getByText(/^\d+ sessions? waits? for you$/).waitFor();
    await page.getByRole('button', { name: 'Go to the first' }).click();
    await page.waitForURL(/\/sessions\/.*#question$/);
    await page.getByRole('region', { name: /^Question:/ }).waitFor();
    expect(await pages.stage.desk.getSession(session.id)).toBeDefined();
  });

  it('can be installed', async () => {
    const page = await pages.open('/');
    await page.getByRole('button', { name: 'New session' }).first().waitFor();
    const devtools = await page.context().newCDPSession(page);
    const manifest = await devtools.send('Page.getAppManifest');
    expect(manifest.errors).toEqual([]);
    const { installabilityErrors } = await devtools.send('Page.getInstallabilityErrors');
    // A test browser's profile is private, in which nothing is ever installed.
    expect(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito')).toEqual([]);
  });
});

describe('accessibility', () => {
  const axe = readFileSync(createRequire(`${repositoryRoot}/packages/testkit/`).resolve('axe-core/axe.min.js'), 'utf8');

  async function violations(page: Page): Promise<readonly string[]> {
    await page.evaluate(axe);
    const found: unknown = await page.evaluate(
      `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => id + ': ' + nodes[0].target.join(' ') + ' ' + nodes[0].failureSummary))`,
    );
    return Array.isArray(found) ? found.map(String) : ['axe did not run'];
  }

  it.each([
    ['light', { colorScheme: 'light' }],
    ['dark', { colorScheme: 'dark' }],
    ['high contrast', { theme: 'contrast' }],
    ['a phone', PHONE],
  ] as const)('finds nothing serious: %s', async (_, options) => {
    const session = await waiting('Accessible');
    const page = await pages.open(at(session), options);
    await page.getByRole('region', { name: 'Question: Database' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('/');
    if (!('isMobile' in options)) await page.keyboard.press('Escape');
    await page.getByRole('log').evaluate((log) => log.scrollTo(0, 400));
    await page.getByRole('button', { name: 'src/import.ts edited +4 −2', exact: true }).click();
    await page.locator('diffs-container [data-line]').first().waitFor();
    await page.keyboard.press('c');
    expect(await violations(page)).toEqual([]);
    await page.goto(`${pages.stage.url}/`);
    await page
      .getByRole('link', { name: /Accessible/ })
      .first()
      .waitFor();
    await page.keyboard.press('n');
    await page.getByRole('dialog', { name: 'New session' }).waitFor();
    expect(await violations(page)).toEqual([]);
  });
});
