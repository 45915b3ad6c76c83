// Questions on the page: answered by keyboard and by pointer, kept over reloads and lost links, and
// told truthfully whatever became of them.

import { asks, CHECKS_QUESTION, choice, DATABASE_QUESTION, type StagedSession } from '@engram/testkit';
import { describe, expect, it } from 'vitest';
import { useWebPages } from './web-pages.js';

const pages = useWebPages();
type Page = Awaited<ReturnType<typeof pages.open>>;
type Questions = Parameters<typeof asks>[2];
const ANA = { id: 'ana', name: 'ana' };

async function asking(questions: Questions, previews?: Parameters<typeof asks>[3]): Promise<StagedSession> {
  const session = await pages.stage.session({ title: 'A question', prompt: 'Begin' });
  await session.play(
    { type: 'run_started', run_id: 'r1', prompt_id: session.promptId },
    ...asks('r1', 'q1', questions, previews),
  );
  await session.sleep();
  return session;
}

async function answers(session: StagedSession): Promise<unknown> {
  const { events } = await pages.stage.desk.readEvents(session.id, 0, 1_000);
  return events.find(({ event }) => event.type === 'answer_submitted')?.event;
}

const at = (session: StagedSession) => `/sessions/${session.id}`;
const card = (page: Page, header = 'Database') => page.getByRole('region', { name: `Question: ${header}` });
const checked = (page: Page, role: 'radio' | 'checkbox', name: string) =>
  page.getByRole(role, { name, exact: true, checked: true }).waitFor();

describe('a question card', () => {
  it('is answered with the keyboard alone: digits, steps, ticks, own words, Enter', async () => {
    const session = await asking([DATABASE_QUESTION, CHECKS_QUESTION]);
    const page = await pages.open(at(session));
    await card(page).getByText('1 of 2').waitFor();
    expect(await page.title()).toContain('(');
    await page.keyboard.press('2');
    await checked(page, 'radio', 'SQLite');
    await page.keyboard.press('ArrowDown');
    await checked(page, 'radio', 'Redis');
    await page.keyboard.press('1');
    await page.keyboard.press('Enter');
    await card(page, 'Checks').getByText('2 of 2').waitFor();
    await page.keyboard.press('1');
    await page.keyboard.press('3');
    await checked(page, 'checkbox', 'Lint, strict');
    await page.keyboard.press('o');
    const own = page.getByRole('textbox', { name: 'Your own answer' });
    await page.keyboard.type('1 smoke test, too');
    expect(await own.inputValue()).toBe('1 smoke test, too');
    await checked(page, 'checkbox', 'End to end');
    await page.keyboard.press('Escape');
    await page.keyboard.press('3');
    await page.keyboard.press('Enter');
    await page.getByText('Sent — waking the agent').first().waitFor();
    expect(await answers(session)).toMatchObject({
      answers: {
        [DATABASE_QUESTION.question]: ['PostgreSQL'],
        [CHECKS_QUESTION.question]: ['Lint, strict', '1 smoke test, too'],
      },
    });
    await session.play(
      { type: 'run_started', run_id: 'r2' },
      {
        type: 'question_answered',
        run_id: 'r2',
        tool_call_id: 'q1',
        answers: {
          [DATABASE_QUESTION.question]: ['PostgreSQL'],
          [CHECKS_QUESTION.question]: ['Lint, strict', '1 smoke test, too'],
        },
      },
    );
    await page.getByText(/^Answered by you, \d\d:\d\d/).waitFor();
    await page.getByRole('group', { name: 'asked' }).getByText('“Lint, strict”, “1 smoke test, too”').waitFor();
    await card(page).waitFor({ state: 'detached' });
  });

  it('keeps what was chosen and typed over a reload, for each question', async () => {
    const session = await asking([DATABASE_QUESTION, CHECKS_QUESTION]);
    const page = await pages.open(at(session));
    await page.getByRole('radio', { name: 'SQLite' }).check();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('checkbox', { name: 'Something else…' }).check();
    await page.getByRole('textbox', { name: 'Your own answer' }).fill('mine');
    await page.reload();
    await checked(page, 'radio', 'SQLite');
    await page.getByRole('button', { name: 'Next' }).click();
    await checked(page, 'checkbox', 'Something else…');
    expect(await page.getByRole('textbox', { name: 'Your own answer' }).inputValue()).toBe('mine');
  });

  it('says sending while the link is down, and sent once the server has stored it', async () => {
    const session = await asking([DATABASE_QUESTION]);
    const page = await pages.open(at(session));
    await page.getByRole('radio', { name: 'PostgreSQL' }).check();
    await pages.stage.setLink(false);
    await page.getByText(/Connection lost — retrying in \d+ s · nothing you sent is lost/).waitFor();
    await page.getByRole('button', { name: 'Answer' }).click();
    await page.getByText(/Sending… the server does not answer, trying again/).waitFor();
    expect(await answers(session)).toBeUndefined();
    await pages.stage.setLink(true);
    await page.getByText('Sent — waking the agent').first().waitFor();
    await page.getByText(/Connection lost/).waitFor({ state: 'detached' });
    expect(await answers(session)).toMatchObject({ answers: { [DATABASE_QUESTION.question]: ['PostgreSQL'] } });
  });

  it('offers a failed answer again, also after a reload', async () => {
    const session = await asking([DATABASE_QUESTION]);
    const page = await pages.open(at(session));
    await page.getByRole('radio', { name: 'SQLite' }).check();
    await page.getByRole('button', { name: 'Answer' }).click();
    await page.getByText('Sent — waking the agent').first().waitFor();
    await session.failAnswer('q1', 'the agent ended before it had the answer');
    await page.getByText(/The answer did not reach the agent/).waitFor();
    await page.reload();
    await checked(page, 'radio', 'SQLite');
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('Sent — waking the agent').first().waitFor();
  });

  it('tells of an answer given elsewhere, with what stood here', async () => {
    const session = await asking([DATABASE_QUESTION]);
    const page = await pages.open(at(session));
    await page.getByRole('radio', { name: 'SQLite' }).check();
    await pages.stage.desk.acceptAnswer(session.id, {
      tool_call_id: 'q1',
      answers: { [DATABASE_QUESTION.question]: ['Redis'] },
      by: ANA,
    });
    const alert = page.getByRole('alert');
    await alert.getByText('Answered elsewhere while you were typing').waitFor();
    await alert.getByText('Redis').waitFor();
    await alert.getByText(/You had: SQLite/).waitFor();
    await page.getByText('Answered by ana — waking the agent').first().waitFor();
    await alert.getByRole('button', { name: 'Close' }).click();
    await card(page).waitFor({ state: 'detached' });
  });

  it('closes as replaced by a message, as declined, and as stopped', async () => {
    const session = await asking([DATABASE_QUESTION]);
    const page = await pages.open(at(session));
    await card(page).getByRole('button', { name: 'Reply in words' }).click();
    await page.keyboard.type('Neither: use a file.');
    await page.keyboard.press('Enter');
    await page.getByText('Replaced by your message').waitFor();

    const second = await asking([DATABASE_QUESTION]);
    await page.goto(`${pages.stage.url}${at(second)}`);
    await card(page).getByRole('button', { name: 'Decline' }).click();
    await page.getByText('Declined', { exact: true }).waitFor();
    await card(page).waitFor({ state: 'detached' });

    const third = await asking([DATABASE_QUESTION]);
    await page.goto(`${pages.stage.url}${at(third)}`);
    await card(page).waitFor();
    await pages.stage.desk.dismissQuestion(third.id, { tool_call_id: 'q1', reason: 'interrupted', by: ANA });
    await page.getByText('Closed: the run was stopped').waitFor();
  });

  it('with two equal questions is never half filled: words or decline', async () => {
    const session = await asking([choice('Pick', 'First', ['a', 'b']), choice('Pick', 'Second', ['c', 'd'])]);
    const page = await pages.open(at(session));
    const first = card(page, 'First');
    await first.getByText(/Two questions here have the same words/).waitFor();
    await first.getByText('c · d').waitFor();
    expect(await first.getByRole('radio').count()).toBe(0);
    expect(await first.getByRole('button', { name: /Answer|Next/ }).count()).toBe(0);
    await page.keyboard.press('1');
    await page.keyboard.press('Enter');
    await first.getByRole('button', { name: 'Reply in words' }).waitFor();
    await first.getByRole('button', { name: 'Decline' }).click();
    await page.getByText('Declined', { exact: true }).waitFor();
  });

  it('shows odd shapes as they are: no header, no options, five options, previews as inert text', async () => {
    const session = await asking(
      [choice('Name it', '', []), choice('Which', 'Five', ['a', 'b', 'c', 'd', 'e\u202e'])],
      [[], ['<script>x()</script>', '', '', '', '']],
    );
    const page = await pages.open(`${at(session)}#question`);
    const first = page.getByRole('region', { name: 'Question: Name it' });
    await first.waitFor();
    expect(await first.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.getByRole('textbox', { name: 'Your own answer' }).fill('x');
    await page.keyboard.press('Enter');
    await page.getByText('Preview: a').click();
    await page.getByText('<script>x()</script>').waitFor();
    expect(await page.getByRole('radio').count()).toBe(6);
    await page.getByLabel(/^e/).getByText('U+202E').or(page.getByText('U+202E')).first().waitFor();
  });

  it('has the focus when a link or a key leads to it, also on the page that shows it', async () => {
    const session = await asking([DATABASE_QUESTION]);
    const page = await pages.open(at(session));
    await card(page).waitFor();
    const focused = () => card(page).evaluate((element) => element === document.activeElement);
    await page.getByRole('textbox', { name: 'Message' }).focus();
    await page.keyboard.press('Escape');
    expect(await focused()).toBe(false);
    await page.keyboard.press('g');
    await page.keyboard.press('w');
    await page.waitForURL(/#question$/);
    await expect.poll(focused).toBe(true);
    await page.keyboard.press('2');
    await checked(page, 'radio', 'SQLite');
  });

  it('can be read and not answered by somebody else, and neither can the session be written to', async () => {
    const session = await asking([DATABASE_QUESTION, CHECKS_QUESTION]);
    const page = await pages.open('/');
    // The policy shows nobody a session of another owner today; the page must not rely on that.
    await page.route('**/api/v1/sessions?*', async (route) => {
      const response = await route.fetch();
      const list: { sessions: object[] } = await response.json();
      await route.fulfill({ response, json: { sessions: list.sessions.map((one) => ({ ...one, owner: 'ana' })) } });
    });
    await page.goto(`${pages.stage.url}${at(session)}#question`);
    await card(page).getByText('It waits for the owner of this session.').waitFor();
    await card(page).getByText('LISTEN/NOTIFY').waitFor();
    await card(page).getByText('Unit tests').waitFor();
    await page.getByText('You can read this session. Only its owner can write to it.').waitFor();
    expect(await card(page).getByRole('button').count()).toBe(0);
    for (const name of ['Answer', 'Decline', 'Reply in words', 'Send', 'Rename session', 'Delete session']) {
      expect(await page.getByRole('button', { name }).count()).toBe(0);
    }
    expect(await page.getByRole('textbox').count()).toBe(0);
    await page.keyboard.press('1');
    await page.keyboard.press('Enter');
    expect(await answers(session)).toBeUndefined();
  });

  it('is settled once, whatever two tabs do', async () => {
    const session = await asking([DATABASE_QUESTION]);
    const left = await pages.open(at(session));
    const right = await pages.openBeside(left, at(session));
    await right.getByRole('radio', { name: 'Redis' }).check();
    await left.getByRole('radio', { name: 'SQLite' }).check();
    await left.getByRole('button', { name: 'Answer' }).click();
    await right.getByText('Answered elsewhere while you were typing').waitFor();
    expect(await answers(session)).toMatchObject({ answers: { [DATABASE_QUESTION.question]: ['SQLite'] } });
  });
});
