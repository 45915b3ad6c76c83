// A question waits while everything that could remember it dies. What was asked is still there, in a
// browser that has never seen it, and what was answered is done once.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDemoModel, timesTold, toolResultsOf } from '@engram/demo-model';
import { type Browser, claudeVersions, type Engram, launchBrowser, startEngram, waitFor } from '@engram/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { QUESTION, STORY } from './story.js';

const version = claudeVersions().at(-1) ?? '';
let browser: Browser;
let dataDir: string;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'engram-restart-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

/** Brings a new session to its waiting question. */
async function askedSession(engram: Engram): Promise<{ id: string; callId: string }> {
  const session = await engram.api.createSession({ prompt: 'Go. [[STORY]]', workspace: { kind: 'empty' } });
  await engram.api.eventsUntil(session.id, (event) => event.type === 'status_changed' && event.to === 'idle');
  const asked = (await engram.api.getSession(session.id)).awaiting[0];
  if (asked === undefined) throw new Error('no question waits');
  return { id: session.id, callId: asked.tool_call_id };
}

describe('a waiting question', () => {
  it('outlives the server and then everything, PostgreSQL included, and is answered from a new browser', async () => {
    const model = await createDemoModel({ scenarios: { STORY } });
    let engram = await startEngram({ claudeVersion: version, model, dataDir });
    try {
      const { id, callId } = await askedSession(engram);

      const exit = await engram.killServer();
      expect(exit.code).not.toBe(0);
      await waitFor(() => engram.processTable().length === 0, 15_000, 'nothing to be left after the server died');

      engram = await startEngram({ claudeVersion: version, model, dataDir });
      expect((await engram.api.getSession(id)).awaiting.map((question) => question.tool_call_id)).toEqual([callId]);
      await engram.killAll();

      engram = await startEngram({ claudeVersion: version, model, dataDir });
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(engram.link);
      await page.getByRole('link', { name: new RegExp(QUESTION.slice(0, 20)) }).click();
      const card = page.getByRole('region', { name: 'Question: Greeting' });
      await card.getByRole('radio', { name: /^Formal/ }).check();
      await card.getByRole('button', { name: 'Answer' }).click();
      await page.getByText('The greeting is in place.').waitFor({ timeout: 60_000 });
      await context.close();

      const { events } = await engram.api.events(id);
      expect(events.filter((event) => event.type === 'user_question')).toHaveLength(1);
      expect(events.filter((event) => event.type === 'question_answered')).toMatchObject([{ tool_call_id: callId }]);
    } finally {
      await engram.stop();
      await model.close();
    }
  });

  it('takes an answer that was sent again and again while the server restarted, and acts on it once', async () => {
    const model = await createDemoModel({ scenarios: { STORY } });
    let engram = await startEngram({ claudeVersion: version, model, dataDir });
    try {
      const { id, callId } = await askedSession(engram);
      const { url, token, port } = engram;
      await engram.killAll();

      // A client that retries until it hears that the answer is stored, and then once more.
      const send = () =>
        fetch(`${url}/api/v1/sessions/${id}/answers`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ tool_call_id: callId, answers: { [QUESTION]: ['Formal'] } }),
        }).then(
          (reply) => reply.status,
          () => 0,
        );
      const stored = waitFor(async () => (await send()) === 202, 60_000, 'the answer to be stored');
      engram = await startEngram({ claudeVersion: version, model, dataDir, port });
      await stored;
      expect(await send()).toBe(202);

      const seen = await engram.api.eventsUntil(
        id,
        (event, before) => event.type === 'run_completed' && before.some((each) => each.type === 'question_answered'),
      );
      expect(seen.filter((event) => event.type === 'answer_submitted')).toHaveLength(1);
      expect(seen.filter((event) => event.type === 'question_answered')).toHaveLength(1);
      const carrying = model.requests.filter((request) => toolResultsOf(request).some((r) => r.tool_use_id === callId));
      expect(carrying.length).toBeGreaterThan(0);
      for (const request of carrying) expect(timesTold(request, 'Formal')).toBe(1);
    } finally {
      await engram.stop();
      await model.close();
    }
  });
});
