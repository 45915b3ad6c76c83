// The story Engram exists for, told by a browser to the real CLI: a task, its file changes, a
// question, nobody running while it waits, an answer, and the same tool call going on.

import { createDemoModel, type LogEntry, toolResultsOf } from '@engram/demo-model';
import { type Browser, claudeVersions, launchBrowser, startEngram, waitFor } from '@engram/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { QUESTION, STORY } from './story.js';

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());

describe.each(claudeVersions())('with Claude Code %s', (version) => {
  it('carries a task over a sleeping question to its end, and the answer reaches the model once', async () => {
    const model = await createDemoModel({ scenarios: { STORY } });
    const engram = await startEngram({ claudeVersion: version, model });
    const context = await browser.newContext();
    const page = await context.newPage();
    try {
      await page.goto(engram.link);
      expect(page.url()).not.toContain('token=');

      await page.getByRole('button', { name: 'New session' }).first().click();
      const dialog = page.getByRole('dialog', { name: 'New session' });
      await dialog.getByRole('textbox', { name: 'What should be done?' }).fill('Write a greeting. [[STORY]]');
      await dialog.getByRole('radio', { name: 'Empty' }).check();
      await dialog.getByRole('button', { name: 'Start' }).click();

      // While the run is open there is an agent: the control for its absence below.
      await waitFor(() => engram.agents().length === 1, 60_000, 'an agent process while the run is open');

      await page.getByText('I start with a first draft.').waitFor({ timeout: 60_000 });
      await page.getByRole('button', { name: 'greeting.txt created +2', exact: true }).waitFor({ timeout: 30_000 });
      await page.getByRole('button', { name: 'greeting.txt edited +1 −1', exact: true }).waitFor({ timeout: 30_000 });

      const card = page.getByRole('region', { name: 'Question: Greeting' });
      await card.waitFor({ timeout: 60_000 });
      await card.getByText(QUESTION).waitFor();
      await waitFor(async () => /\(1\)/.test(await page.title()), 10_000, 'the tab title to count the question');

      // Nothing runs while it waits.
      const [listed] = (await engram.api.listSessions()).sessions;
      const id = listed?.id ?? '';
      await waitFor(async () => (await engram.api.getSession(id)).status === 'idle', 30_000, 'the session to sleep');
      expect(engram.agents()).toEqual([]);
      const asked = (await engram.api.getSession(id)).awaiting[0];
      expect(asked?.state).toBe('waiting');
      const callId = asked?.tool_call_id ?? '';
      expect(resultsFor(model.requests, callId)).toEqual([]);

      await card.getByRole('radio', { name: /^Warm, friendly/ }).check();
      await card.getByRole('button', { name: 'Answer' }).click();
      await page
        .getByText(/Answered by you, .*Warm, friendly/)
        .first()
        .waitFor({ timeout: 60_000 });
      await page.getByText('The greeting is in place.').waitFor({ timeout: 60_000 });

      // The model's own log: the answer came under the same call id, in exactly one new result.
      const results = resultsFor(model.requests, callId);
      expect(results.length).toBeGreaterThan(0);
      expect(new Set(results.map((result) => result.content)).size).toBe(1);
      expect(results[0]?.content).toContain('Warm, friendly');
      expect(results[0]?.is_error).toBe(false);
      const first = model.requests.find((request) => toolResultsOf(request).some((r) => r.tool_use_id === callId));
      expect(occurrences(first, callId)).toBe(1);

      const { events } = await engram.api.events(id);
      const types = events.map((event) => event.type);
      expect(types.filter((type) => type === 'user_question')).toHaveLength(1);
      expect(types.filter((type) => type === 'question_answered')).toHaveLength(1);
      expect(events.map((event) => event.idx)).toEqual(events.map((_, i) => i + 1));
      const changes = events.filter((event) => event.type === 'file_changed');
      expect(changes.map((event) => event.change)).toMatchObject([
        { type: 'patch', kind: 'create', additions: 2, deletions: 0 },
        { type: 'patch', kind: 'update', additions: 1, deletions: 1 },
        { type: 'patch', kind: 'overwrite', additions: 1, deletions: 0 },
      ]);
      expect(JSON.stringify(changes[2])).toContain('chosen: warm');

      // A reload builds the same page from the log.
      await page.reload();
      await page
        .getByText(/Answered by you, .*Warm, friendly/)
        .first()
        .waitFor({ timeout: 15_000 });
      await page.getByText('The greeting is in place.').waitFor();
    } finally {
      await context.close();
      const stopped = Date.now();
      await engram.stop();
      expect(Date.now() - stopped).toBeLessThan(15_000);
      expect(engram.processTable()).toEqual([]);
      await model.close();
    }
  });
});

function resultsFor(requests: readonly LogEntry[], callId: string) {
  return requests.flatMap((request) => toolResultsOf(request)).filter((result) => result.tool_use_id === callId);
}

function occurrences(request: LogEntry | undefined, callId: string): number {
  return request === undefined ? 0 : toolResultsOf(request).filter((result) => result.tool_use_id === callId).length;
}
