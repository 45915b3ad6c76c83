// `npm run screenshots`: pictures of the main screens, made of staged sessions in the real page and
// server. Into screenshots/ (not kept in git) or the folder after --out; names after it limit it:
//   npm run screenshots -- --out docs/images waiting diff-dark

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, ScriptError } from './repository.mjs';

const kit = await import('@engram/testkit').catch(() => {
  throw new ScriptError('the test kit is not built: run it with `npm run screenshots`.');
});
const { asks, calls, changes, CHECKS_QUESTION, DATABASE_QUESTION, importerScene, patch, says } = kit;

const args = process.argv.slice(2);
const outAt = args.indexOf('--out');
const out = join(root, outAt === -1 ? 'screenshots' : (args[outAt + 1] ?? ''));
const names = args.filter((arg, at) => !arg.startsWith('--') && (outAt === -1 || at !== outAt + 1));
mkdirSync(out, { recursive: true });

const stage = await kit.startWebStage();
const browser = await kit.launchBrowser();
const run = (session) => ({ type: 'run_started', run_id: 'r1', prompt_id: session.promptId });
const end = [{ type: 'run_completed', run_id: 'r1', ok: true }, { type: 'harness_idle' }];

/** Pictures that go both ways, made of the page itself. */
async function furnishLook() {
  const page = await (await stage.signIn(browser, { viewport: { width: 640, height: 400 } })).newPage();
  await page.goto(stage.url);
  await page.getByRole('button', { name: 'New session' }).first().click();
  await page.getByRole('dialog').waitFor();
  await page.waitForTimeout(400);
  const picture = await page.screenshot();
  await page.context().close();
  const look = await stage.session({ title: 'The dialog jumps when it opens', prompt: 'Look into the dialog' });
  await look.play(run(look), ...end);
  const stored = await stage.desk.putAttachment(look.id, picture);
  const notes = await stage.desk.putAttachment(look.id, Buffer.from('1. Open\n2. See\n'));
  const files = [
    { attachment_id: stored.attachment_id, name: 'before.png' },
    { attachment_id: notes.attachment_id, name: 'steps to see it.txt' },
  ];
  const said = { text: 'It jumps by some pixels, see the picture.', prompt_id: 'p2', by: kit.STAGE_OWNER };
  await stage.desk.acceptPrompt(look.id, { ...said, attachments: files });
  const image = { attachment_id: stored.attachment_id, media_type: 'image/png', size: picture.length };
  const call = { run_id: 'r2', tool_call_id: 'shot', tool_name: 'mcp__browser__screenshot' };
  await look.play(
    { type: 'run_started', run_id: 'r2', prompt_id: 'p2' },
    says('r2', 'm1', 'I open the page the same way and look.'),
    { type: 'tool_call_started', ...call, args_summary: '{"url":"http://localhost:4400/"}' },
    { type: 'tool_call_completed', ...call, ok: true, duration_ms: 1_300, result_summary: '[image]', images: [image] },
    says('r2', 'm2', 'The dialog is drawn before its width is known. I set the width first.'),
  );
  return look;
}

async function furnish() {
  for (const title of ['Docs pass', 'Rename the config keys', 'Flaky test in the scheduler', 'Typed errors']) {
    const session = await stage.session({ title, prompt: title });
    await session.play(run(session), says('r1', 'm', 'Done.'), ...end);
    await session.sleep();
  }
  const broken = await stage.session({ title: 'Rewrite the build', prompt: 'Rewrite the build with one tool' });
  await broken.fail(
    'The agent could not be started after 3 tries: claude ended with code 1. `engram doctor` says what is missing.',
  );
  const deps = await stage.session({
    title: 'Upgrade dependencies',
    prompt: 'Upgrade all dependencies and keep the tests green',
  });
  await deps.play(
    run(deps),
    says('r1', 'm1', 'I look at what is out of date first, then upgrade one package at a time.'),
    ...calls('r1', {
      id: 't1',
      name: 'Bash',
      args: { command: 'npm outdated' },
      result: 'fastify 5.1.0 → 5.10.0',
      ms: 2_100,
    }),
    changes(
      'r1',
      'c1',
      'package.json',
      patch(
        'update',
        ['   "dependencies": {', '-    "fastify": "5.1.0",', '+    "fastify": "5.10.0",', '     "pg": "8.23.1"'],
        { start: 12 },
      ),
    ),
    {
      type: 'tool_call_started',
      run_id: 'r1',
      tool_call_id: 't2',
      tool_name: 'Bash',
      args_summary: '{"command":"npm test"}',
    },
  );
  await stage.desk.acceptPrompt(deps.id, {
    text: 'And afterwards update the changelog',
    prompt_id: 'p2',
    by: kit.STAGE_OWNER,
  });
  await deps.play({ type: 'prompt_queued', prompt_id: 'p2' });
  const login = await stage.session({ title: 'Fix login redirect loop', prompt: 'Fix it' });
  await login.play(
    run(login),
    ...asks('r1', 'q1', [kit.choice('May I change the cookie path?', 'Cookie', ['Yes', 'No'])]),
  );
  await login.sleep();
  const port = await stage.session({
    title: 'Port the importer to streams',
    prompt:
      'Move the importer to streams, keep the tests green, and tell me which database you would use for the queue.',
  });
  await port.play(...importerScene('r1', port.promptId), ...asks('r1', 'q1', [DATABASE_QUESTION, CHECKS_QUESTION]));
  await port.sleep();
  const look = await furnishLook();
  return { broken, deps, port, look };
}

const sessions = await furnish();
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };
const desk = { viewport: { width: 1280, height: 800 } };

async function openAt(options, path) {
  const page = await (await stage.signIn(browser, options)).newPage();
  await page.goto(`${stage.url}${path}`);
  return page;
}
const at = (session) => `/sessions/${session.id}`;

async function openWaiting(options) {
  const page = await openAt(options, at(sessions.port));
  await page.getByRole('region', { name: 'Question: Database' }).waitFor();
  return page;
}
async function openDiff(options) {
  const page = await openWaiting(options);
  await page.getByRole('button', { name: 'Changes' }).click();
  await page.getByRole('button', { name: /Go to the last change of src\/import\.ts/ }).click();
  await page.locator('diffs-container [data-line]').first().waitFor();
  return page;
}

const shots = {
  waiting: () => openWaiting(desk),
  'waiting-dark': () => openWaiting({ ...desk, colorScheme: 'dark' }),
  diff: () => openDiff(desk),
  'diff-dark': () => openDiff({ ...desk, colorScheme: 'dark' }),
  home: () => openAt(desk, '/'),
  async working() {
    const page = await openAt(desk, at(sessions.deps));
    await page.getByText('queued: 1').waitFor();
    return page;
  },
  async error() {
    const page = await openAt(desk, at(sessions.broken));
    await page.getByText('What you sent is kept').waitFor();
    return page;
  },
  async 'connection-lost'() {
    const page = await openWaiting(desk);
    await page.getByRole('radio', { name: 'SQLite' }).check();
    await stage.setLink(false);
    await page.getByText(/Connection lost/).waitFor();
    return page;
  },
  'phone-list': () => openAt(phone, '/'),
  phone: () => openWaiting(phone),
  async 'phone-changes'() {
    const page = await openWaiting({ ...phone, colorScheme: 'dark' });
    await page.getByRole('tab', { name: /Changes/ }).tap();
    return page;
  },
  async 'new-session'() {
    const page = await openAt(desk, '/');
    await page.getByRole('button', { name: 'New session' }).first().click();
    return page;
  },
  async find() {
    const page = await openWaiting(desk);
    await page.keyboard.press('/');
    await page.keyboard.type('tests');
    await page.keyboard.press('Enter');
    return page;
  },
  async files() {
    const page = await openAt(desk, at(sessions.look));
    await page.getByRole('button', { name: /screenshot .* 1 image/ }).click();
    await page.getByRole('img', { name: 'Image 1' }).waitFor();
    await page.locator('input[type=file]').setInputFiles([
      { name: 'after.txt', mimeType: 'text/plain', buffer: Buffer.from('still there') },
      { name: 'film.mov', mimeType: 'video/quicktime', buffer: Buffer.alloc(6_000_000) },
    ]);
    await page.getByText('11 bytes').waitFor();
    await page.getByRole('log').hover();
    await page.mouse.wheel(0, -40);
    return page;
  },
  async undo() {
    const page = await openAt(desk, at(sessions.deps));
    await page.getByRole('button', { name: 'Delete session' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    return page;
  },
};

for (const name of names.length > 0 ? names : Object.keys(shots)) {
  if (shots[name] === undefined)
    throw new ScriptError(`no picture is called "${name}"; there are: ${Object.keys(shots).join(', ')}.`);
  const page = await shots[name]();
  // What was just drawn has come to rest, fonts and colours included.
  await page.waitForTimeout(900);
  await page.screenshot({ path: join(out, `${name}.png`) });
  process.stdout.write(`${join(out, `${name}.png`)}\n`);
  await stage.setLink(true);
  await page.context().close();
}
await browser.close();
await stage.stop();
