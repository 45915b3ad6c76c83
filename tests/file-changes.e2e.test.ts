// What the agent does to files, as the log and the page tell it: one row for each change that
// happened, with its true counts, and none for those that did not.

import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDemoModel, type Scenario, text, tool } from '@engram/demo-model';
import { type Browser, launchBrowser, startEngram, versionsToTest } from '@engram/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());

const CHANGES: Scenario = ({ workspace }) => {
  const at = (name: string) => `${workspace}/${name}`;
  return [
    { blocks: [tool('Write', { file_path: at('new.txt'), content: 'one\ntwo\nthree\n' })] },
    { blocks: [tool('Read', { file_path: at('old.txt') })] },
    { blocks: [tool('Write', { file_path: at('old.txt'), content: 'a\nB\nc\nd\n' })] },
    { blocks: [tool('Edit', { file_path: at('old.txt'), old_string: 'c\n', new_string: 'C\nCC\n' })] },
    { blocks: [tool('Edit', { file_path: at('old.txt'), old_string: 'not in it', new_string: 'x' })] },
    { blocks: [tool('Edit', { file_path: at('locked.txt'), old_string: 'keep', new_string: 'lose' })] },
    { blocks: [text('All changes are made.')] },
  ];
};

/** A hook of the project that refuses edits of one file, as teams have them. */
const REFUSE_LOCKED = `
let body = '';
process.stdin.on('data', (chunk) => (body += chunk));
process.stdin.on('end', () => {
  if (!JSON.parse(body).tool_input.file_path.endsWith('locked.txt')) return;
  process.stderr.write('locked.txt is not to be edited');
  process.exit(2);
});
`;

describe.each(versionsToTest())('with Claude Code %s', (version) => {
  it('shows a created, an overwritten and an edited file, and nothing for a failing and a refused edit', async () => {
    const workspace = await realpath(await mkdtemp(join(tmpdir(), 'engram-changes-')));
    await writeFile(join(workspace, 'old.txt'), 'a\nb\nc\n');
    await writeFile(join(workspace, 'locked.txt'), 'keep\n');
    await mkdir(join(workspace, '.claude'));
    await writeFile(join(workspace, '.claude/refuse.mjs'), REFUSE_LOCKED);
    const command = `"${process.execPath}" "${join(workspace, '.claude/refuse.mjs')}"`;
    const hooks = { PreToolUse: [{ matcher: 'Edit', hooks: [{ type: 'command', command }] }] };
    await writeFile(join(workspace, '.claude/settings.json'), JSON.stringify({ hooks }));
    const model = await createDemoModel({ scenarios: { CHANGES } });
    const engram = await startEngram({ claudeVersion: version, model });
    const context = await browser.newContext();
    try {
      const session = await engram.api.createSession({
        prompt: 'Change them. [[CHANGES]]',
        workspace: { kind: 'path', path: workspace },
      });
      const events = await engram.api.eventsUntil(session.id, (event) => event.type === 'run_completed');
      const changes = events.filter((event) => event.type === 'file_changed');
      expect(changes).toMatchObject([
        { path: 'new.txt', change: { type: 'patch', kind: 'create', additions: 3, deletions: 0 } },
        { path: 'old.txt', change: { type: 'patch', kind: 'overwrite', additions: 2, deletions: 1 } },
        { path: 'old.txt', change: { type: 'patch', kind: 'update', additions: 2, deletions: 1 } },
      ]);
      const edits = events.filter((event) => event.type === 'tool_call_completed' && event.tool_name === 'Edit');
      expect(edits.map((event) => event.ok)).toEqual([true, false, false]);

      const page = await context.newPage();
      await page.goto(engram.link);
      await page.goto(`${engram.url}/sessions/${session.id}`);
      await page.getByText('All changes are made.').waitFor();
      await page.getByRole('button', { name: 'new.txt created +3', exact: true }).waitFor();
      await page.getByRole('button', { name: 'old.txt overwritten +2 −1', exact: true }).waitFor();
      const edited = page.getByRole('button', { name: 'old.txt edited +2 −1', exact: true });
      expect(await page.getByRole('button', { name: /locked\.txt .*(edited|created|overwritten)/ }).count()).toBe(0);

      // The diff is fetched when it is opened, and shows the replaced line.
      await edited.click();
      await page.getByText('CC', { exact: true }).first().waitFor({ timeout: 30_000 });
    } finally {
      await context.close();
      await engram.stop();
      await model.close();
      await rm(workspace, { recursive: true, force: true });
    }
  });
});
