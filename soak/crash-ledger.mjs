// What the service has said yes to, and whether it still holds: every prompt and answer it acknowledged, every
// event it showed. Pure; the log is read by who calls.

export function createLedger() {
  const sessions = new Map();
  const of = (id) => {
    const known = sessions.get(id) ?? { prompts: new Set(), unsure: new Set(), answers: new Set(), seen: new Map() };
    sessions.set(id, known);
    return known;
  };
  return {
    sessionIds: () => [...sessions.keys()],
    created: (id) => void of(id),
    /** `acknowledged` false: no reply came, so it may be stored or not, but not twice. */
    prompted(id, promptId, acknowledged) {
      of(id)[acknowledged ? 'prompts' : 'unsure'].add(promptId);
    },
    answered: (id, toolCallId) => void of(id).answers.add(toolCallId),
    /** An event as a stream showed it; gives a finding when it was shown otherwise before. */
    saw(id, event) {
      const text = JSON.stringify(event);
      const before = of(id).seen.get(event.idx);
      of(id).seen.set(event.idx, before ?? text);
      return before === undefined || before === text
        ? undefined
        : { class: 'changed', what: `event ${event.idx} of ${id}` };
    },
    counts() {
      const all = [...sessions.values()];
      const sum = (pick) => all.reduce((total, each) => total + pick(each), 0);
      return {
        sessions: all.length,
        prompts: sum((each) => each.prompts.size),
        prompts_without_reply: sum((each) => each.unsure.size),
        answers: sum((each) => each.answers.size),
        events_seen: sum((each) => each.seen.size),
      };
    },
    /** Findings of one session against its whole log; `over`: everything must also have reached the agent. */
    check(id, events, { over = false } = {}) {
      const { prompts, unsure, answers, seen } = of(id);
      const findings = [];
      const find = (kind, what) => findings.push({ class: kind, what: `${what} of ${id}` });
      events.forEach((event, at) => {
        if (event.idx !== at + 1) find('gap', `event ${event.idx} stands at ${at + 1}`);
      });
      for (const [idx, text] of seen) {
        const now = events[idx - 1];
        if (now === undefined) find('lost', `event ${idx}, shown before`);
        else if (JSON.stringify(now) !== text) find('changed', `event ${idx}`);
      }
      const times = (type, field, value) =>
        events.filter((event) => event.type === type && event[field] === value).length;
      for (const promptId of [...prompts, ...unsure]) {
        const n = times('prompt_received', 'prompt_id', promptId);
        if (n > 1) find('double', `prompt ${promptId}`);
        if (n === 0 && prompts.has(promptId)) find('lost', `prompt ${promptId}`);
        if (over && n === 1 && times('run_started', 'prompt_id', promptId) === 0) find('stuck', `prompt ${promptId}`);
      }
      for (const toolCallId of answers) {
        const n = times('answer_submitted', 'tool_call_id', toolCallId);
        if (n !== 1) find(n === 0 ? 'lost' : 'double', `answer to ${toolCallId}`);
        if (!over) continue;
        const reached = times('question_answered', 'tool_call_id', toolCallId);
        // A prompt accepted just before the question was asked takes its place: the log says so.
        const told = times('answer_failed', 'tool_call_id', toolCallId) > 0;
        if (reached > 1) find('double', `delivery of the answer to ${toolCallId}`);
        if (reached === 0 && !told) find('stuck', `answer to ${toolCallId}`);
      }
      return findings;
    },
  };
}
