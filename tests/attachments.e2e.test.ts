// Files go both ways: a person gives an image with a message, the real CLI reads it where it was put,
// and what its tool shows the model comes back to the page as a picture.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDemoModel, type Scenario, text, tool, toolResultsOf } from '@engram/demo-model';
import { type Browser, launchBrowser, startEngram, versionsToTest } from '@engram/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe.each(versionsToTest())('with Claude Code %s', (version) => {
  it('carries an image to the agent, and the image its tool read back to the page', async () => {
    let path = '';
    const LOOK: Scenario = () => [
      { blocks: [tool('Read', { file_path: path })] },
      { blocks: [text('The picture is one pixel.')] },
    ];
    const model = await createDemoModel({ scenarios: { LOOK } });
    const engram = await startEngram({ claudeVersion: version, model });
    const context = await browser.newContext();
    try {
      const session = await engram.api.createSession({ title: 'Look', workspace: { kind: 'empty' } });
      const page = await context.newPage();
      await page.goto(engram.link);
      await page.goto(`${engram.url}/sessions/${session.id}`);
      const [chooser] = await Promise.all([
        page.waitForEvent('filechooser'),
        page.getByRole('button', { name: 'Attach files' }).click(),
      ]);
      await chooser.setFiles({ name: 'screen shot.png', mimeType: 'image/png', buffer: PNG });
      const chosen = page.getByRole('list', { name: 'Files for this message' });
      await chosen.getByText('70 bytes').waitFor();
      const id = await chosen
        .page()
        .evaluate((of) => JSON.parse(localStorage.getItem(of) ?? '')[0].attachment_id, `engram.files.${session.id}`);
      path = join(
        engram.dataDir,
        'sessions',
        session.id,
        'home/attachments',
        `${String(id).slice(0, 12)}-screen_shot.png`,
      );
      await page.getByRole('textbox', { name: 'Message' }).fill('What is on it? [[LOOK]]');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('The picture is one pixel.').waitFor({ timeout: 60_000 });

      expect(await readFile(path)).toEqual(PNG);
      const told = model.requests.find((request) => request.scenario === 'LOOK');
      expect(JSON.stringify(told?.messages)).toContain(path);
      const results = model.requests.flatMap((request) => toolResultsOf(request));
      expect(results.some(({ content }) => content.includes('"type":"image"'))).toBe(true);
      const { events } = await engram.api.events(session.id);
      const read = events.find((event) => event.type === 'tool_call_completed');
      expect(read).toMatchObject({ ok: true, images: [{ media_type: expect.stringMatching(/^image\//) }] });
      expect(JSON.stringify(read)).not.toContain('base64');
      await page.getByRole('button', { name: /^Read .* 1 image/ }).click();
      const shown = page.getByRole('list', { name: 'Images in the result' }).getByRole('img', { name: 'Image 1' });
      await expect.poll(() => shown.evaluate((img: HTMLImageElement) => img.naturalWidth)).toBe(1);
      await page.getByRole('list', { name: 'Attached files' }).getByRole('img', { name: 'screen shot.png' }).waitFor();
    } finally {
      await context.close();
      await engram.stop();
      await model.close();
    }
  });
});
