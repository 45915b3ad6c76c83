// Plays one round: a person at a client and, where the plan says so, the hand that kills this session's
// processes. Gives facts; judges nothing (check.mjs does).

import { Person } from './person.mjs';
import { promptKey, promptText, roundMark } from './scenarios.mjs';
import { SessionLog } from './session-log.mjs';
import { HOLD_MS, pause } from './stage.mjs';

const SETTLED_MS = 600;
/** Longer than the watchdog of an agent that stays silent takes. */
const SILENCE_MS = 75_000;
const OVERALL_MS = 240_000;

export const isOf = (entry, tag) =>
  entry.tools.length > 0 &&
  entry.messages.some((message) =>
    message.blocks.some(
      (block) =>
        (block.type === 'text' && block.text.includes(roundMark(tag))) ||
        (block.type === 'tool_result' && block.content.includes(roundMark(tag))),
    ),
  );

/**
 * Of the parts, `faultsOver` resolves when nothing more is done to the stack, and `promptOf` tells by a
 * request's number which prompt the model answered in it.
 */
export async function playRound(parts) {
  return new Player(parts).play();
}

class Player extends Person {
  constructor(parts) {
    super();
    Object.assign(this, parts);
    this.pending = 0;
    this.cardsSeen = 0;
    this.left = new Set();
    this.problems = [];
    this.finishing = new AbortController();
  }

  async play() {
    const { plan, client } = this;
    await pause(plan.startMs);
    const begun = Date.now();
    const key = promptKey(plan.tag, ++this.prompts);
    const created = await client.send(
      'POST',
      '/api/v1/sessions',
      { prompt: promptText(key), title: plan.tag, workspace: { kind: 'empty' } },
      { headers: { 'idempotency-key': `soak-${plan.tag}-${this.stage.dataDir}` } },
    );
    this.note({ kind: 'prompt', key, status: created.status });
    if (created.status !== 201 && created.status !== 200) {
      return {
        plan,
        begun,
        acts: this.acts,
        events: [],
        session: undefined,
        settled: false,
        requests: [],
        problems: [`create: ${created.status}`],
      };
    }
    this.id = created.body.id;
    this.path = `/api/v1/sessions/${this.id}`;
    this.log = new SessionLog(client, this.path);
    for (const fault of plan.faults) this.run(() => this.playFault(fault), true);
    for (const extra of plan.extras) this.run(() => this.playExtra(extra), true);
    let settled = await this.untilSettled();
    this.finishing.abort();
    if (settled && this.wantsLastWord()) {
      await this.sayLastWord();
      settled = await this.untilSettled();
    }
    const session = await client.send('GET', this.path, undefined, { patienceMs: 20_000 });
    await this.log.read();
    return {
      plan,
      sessionId: this.id,
      begun,
      tookMs: Date.now() - begun,
      acts: this.acts,
      events: this.log.events,
      session: session.body,
      left: [...this.left],
      settled,
      agents: this.stage.agentsOf(this.id).length,
      requests: this.model.requests
        .filter((entry) => isOf(entry, plan.tag))
        .map((entry) => ({ ...entry, arg: this.promptOf.get(entry.n) })),
      problems: this.problems,
    };
  }

  /** `waits`: it stands at a moment that may never come, and holds nobody up. */
  run(work, waits = false) {
    if (!waits) this.pending += 1;
    work()
      .catch((error) => this.problems.push(`player: ${error instanceof Error ? error.stack : String(error)}`))
      .finally(() => {
        if (!waits) this.pending -= 1;
      });
  }

  // ---- the whole of it ---------------------------------------------------------------------

  async untilSettled() {
    let quietSince = Date.now();
    const over = false;
    let faultsEnded = false;
    void this.faultsOver.then(() => {
      faultsEnded = true;
      quietSince = Date.now();
    });
    const begun = Date.now();
    while (!over) {
      if (await this.log.read()) quietSince = Date.now();
      for (const card of this.log.cards().slice(this.cardsSeen)) {
        const plan = this.plan.cards[this.cardsSeen] ?? {
          act: 'answer',
          wait: { until: 'now', delayMs: 0 },
          form: 'label',
        };
        this.cardsSeen += 1;
        this.run(() => this.playCard(card, plan));
      }
      const silent = Date.now() - quietSince;
      if (this.pending > 0 || this.stage.isDown() || !faultsEnded) {
        // What is still going to happen is waited for, but not for ever.
        if (Date.now() - begun > OVERALL_MS) return false;
      } else if (silent > SETTLED_MS && this.log.isAtRest(this.left)) {
        const session = await this.client.look(this.path);
        if (session !== undefined && session.last_event_idx === this.log.lastIdx) {
          const resting = session.status === 'active' && session.awaiting.length === 0 && this.log.isIdle();
          if ((session.status === 'idle' || resting) && !session.running) return true;
          if (session.status === 'failed') return true;
        }
      }
      if (faultsEnded && this.pending === 0 && silent > SILENCE_MS) return false;
      if (Date.now() - begun > OVERALL_MS) return false;
      await pause(100);
    }
    return true;
  }

  /**
   * One more prompt to an agent that slept: its request shows what is left of the conversation on disk.
   * Not for a question that is left open; for whatever went wrong before, always.
   */
  wantsLastWord() {
    if (this.left.size > 0) return false;
    const wrong = this.log.events.some(
      (event) => event.type === 'run_interrupted' || (event.type === 'run_completed' && !event.ok),
    );
    return wrong || this.plan.lastWord === true || this.acts.some((act) => act.kind === 'fault');
  }

  async sayLastWord() {
    await this.steer('sleep');
    for (let waited = 0; waited < 20_000; waited += 100) {
      const session = await this.client.look(this.path);
      if (session?.status === 'idle') break;
      await pause(100);
    }
    await this.sendPrompt('last word');
  }

  /** Resolves with false when the round ends before the moment comes. */
  async moment({ on, nth, delayMs }) {
    const { signal } = this.finishing;
    const seen = new Set();
    if (on === 'request') {
      while (seen.size < nth) {
        if (signal.aborted) return false;
        for (const entry of this.model.requests) if (isOf(entry, this.plan.tag)) seen.add(entry.n);
        if (seen.size < nth) await pause(25);
      }
    } else {
      while (this.log.count(on) < nth) {
        if (signal.aborted) return false;
        await pause(25);
      }
    }
    await pause(delayMs);
    return !signal.aborted;
  }

  async playFault(fault) {
    if (!(await this.moment(fault.at))) return;
    const pids = fault.target === 'agent' ? this.stage.agentsOf(this.id) : this.stage.harnessesOf(this.id);
    this.note({ kind: 'fault', target: fault.target, stallMs: fault.stallMs, pids: pids.length });
    if (fault.stallMs !== undefined) await this.stage.stall(pids, fault.stallMs);
    else for (const pid of pids) this.stage.kill(pid);
  }

  async playExtra(extra) {
    if (!(await this.moment(extra.at))) return;
    this.pending += 1;
    try {
      if (extra.do === 'prompt') await this.sendPrompt('prompt');
      else if (extra.do === 'interrupt') await this.interrupt();
      else await this.steer(extra.do);
    } finally {
      this.pending -= 1;
    }
  }

  // ---- what a person does with a card -------------------------------------------------------

  async playCard(card, plan) {
    if (plan.act === 'leave') {
      this.left.add(card.tool_call_id);
      return;
    }
    await this.waitFor(card, plan.wait);
    switch (plan.act) {
      case 'answer':
        return this.playAnswer(card, plan);
      case 'dismiss': {
        const dismissal = this.dismiss(card, plan.reason);
        if (!plan.clash) return dismissal;
        await pause(plan.gapMs);
        return Promise.all([dismissal, this.answer(card, 'label', 'a')]);
      }
      case 'supersede':
        return this.sendPrompt('supersede');
      case 'interrupt':
        await this.interrupt();
        if (plan.promptAfterMs === undefined) return undefined;
        await pause(plan.promptAfterMs);
        return this.sendPrompt('prompt');
      case 'attend': {
        const attended = await this.client.send('POST', `${this.path}/questions/${card.tool_call_id}/attend`, {});
        this.note({ kind: 'attend', call: card.tool_call_id, status: attended.status });
        if (plan.holdMs === 'abandon') {
          await pause(HOLD_MS);
          await this.waitFor(card, { until: 'asleep', delayMs: 100 });
        } else await pause(plan.holdMs);
        if (plan.next === 'dismiss') return this.dismiss(card, true);
        if (plan.next === 'supersede') return this.sendPrompt('supersede');
        if (plan.next === 'interrupt') return this.interrupt();
        return this.answer(card, plan.form, 'a');
      }
      default:
        throw new Error(`no such act: ${plan.act}`);
    }
  }

  async playAnswer(card, plan) {
    if (plan.clash) {
      const first = this.answer(card, 'label', 'a');
      await pause(plan.gapMs);
      await Promise.all([first, this.answer(card, 'label', 'b')]);
      return;
    }
    const sends = [this.answer(card, plan.form, 'a')];
    for (let again = 0; again < (plan.repeats ?? 0); again += 1) {
      await pause(plan.gapMs);
      sends.push(this.answer(card, plan.form, 'a'));
    }
    if (plan.late) {
      await Promise.all(sends);
      await pause(plan.gapMs);
      sends.push(this.answer(card, 'words', 'late'));
    }
    await Promise.all(sends);
  }

  async waitFor(card, { until, delayMs }) {
    if (until === 'asleep' || until === 'waking') await this.untilAsleep(card);
    if (until === 'waking') await this.steer('wake');
    if (until === 'down') await this.untilDown(card);
    await pause(delayMs);
  }

  async untilAsleep(card) {
    for (let waited = 0; waited < 30_000 && this.log.isOpen(card.tool_call_id); waited += 100) {
      const session = await this.client.look(this.path);
      if (session?.status === 'idle') {
        const agents = this.stage.agentsOf(this.id);
        const again = await this.client.look(this.path);
        const still = again?.status === 'idle' && again.last_event_idx === session.last_event_idx;
        if (agents.length > 0 && still) this.problems.push('an agent process exists while the question sleeps');
        return;
      }
      await pause(100);
    }
  }

  async untilDown(card) {
    let over = false;
    void this.faultsOver.then(() => {
      over = true;
    });
    let down = this.stage.isDown();
    const stop = this.stage.onDown(() => {
      down = true;
    });
    while (!down && !over && this.log.isOpen(card.tool_call_id)) await pause(20);
    stop();
  }
}
