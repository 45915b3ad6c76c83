// A session's events as a client reads them, over every restart, and what follows from them.

export class SessionLog {
  constructor(client, path) {
    this.client = client;
    this.path = path;
    this.events = [];
    this.since = 0;
  }

  /** True when there was something new. */
  async read() {
    const page = await this.client.look(`${this.path}/events?since=${this.since}&limit=1000`);
    if (page === undefined || page.events.length === 0) return false;
    // What a cursor gave is kept as it came: the checker looks for gaps and repeats.
    this.events.push(...page.events);
    this.since = page.next_since;
    return true;
  }

  get lastIdx() {
    return this.events.at(-1)?.idx ?? 0;
  }

  count(type) {
    return this.events.filter((event) => event.type === type).length;
  }

  cards() {
    return this.events.filter((event) => event.type === 'user_question');
  }

  isOpen(callId) {
    return !this.events.some(
      (event) =>
        event.tool_call_id === callId &&
        ['question_answered', 'question_dismissed', 'answer_submitted'].includes(event.type),
    );
  }

  /** The agent has come to rest and waits for its soft time-out. */
  isIdle() {
    const last = this.events.findLast((event) =>
      ['harness_idle', 'run_started', 'status_changed'].includes(event.type),
    );
    return last?.type === 'harness_idle';
  }

  /** Nothing is owed: no open run, no prompt that has not run, no question but those left open on purpose. */
  isAtRest(left) {
    const closed = new Set();
    const ran = new Set();
    let running = false;
    let denial = false;
    for (const event of this.events) {
      if (event.type === 'question_answered' || event.type === 'question_dismissed') closed.add(event.tool_call_id);
      if (event.type === 'run_started') {
        running = true;
        denial = false;
        if (event.prompt_id !== undefined) ran.add(event.prompt_id);
      }
      // A dismissal wakes the agent, whose run then shows that it heard of it; an interrupt wakes nobody.
      if (event.type === 'question_dismissed' && event.by !== undefined && event.reason !== 'interrupted')
        denial = true;
      if (event.type === 'prompt_dequeued') ran.add(event.prompt_id);
      if (['run_completed', 'run_interrupted', 'harness_idle'].includes(event.type)) running = false;
    }
    const owed = this.events.some((event) => event.type === 'prompt_received' && !ran.has(event.prompt_id));
    const open = this.cards().filter((card) => !closed.has(card.tool_call_id));
    const leftOpen = open.every((card) => left.has(card.tool_call_id));
    // A prompt may wait behind a question that nobody answers.
    return !running && !denial && leftOpen && (!owed || open.length > 0);
  }
}
