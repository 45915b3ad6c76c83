// Judges one round by its facts: what the client was told, what the log says, what the model was told.
// Pure. A finding is `{class, what}`; the classes are what a user would call it:
//   lost       accepted and never with the model, and nobody was told
//   double     with the model twice, run twice, or closed twice
//   stuck      still owed when everything was quiet for long
//   false      the log or the model was told what did not happen
//   swallowed  the model asked, and nobody saw a card or that it was taken back
//   gap        the log's numbering
//   refused    the API said what it must not say

import { timesTold, toolResultsOf } from '@engram/demo-model';
import { asksOf, mark, questionText } from './scenarios.mjs';

const CLOSINGS = ['question_answered', 'question_dismissed'];
const RUN_ENDS = ['run_completed', 'run_interrupted'];
const USER_RECORDS = [
  /doesn't want to (proceed|take this action)/i,
  /user rejected/i,
  /\[Request interrupted by user/i,
];
const PLACEHOLDER = /tool result missing/i;
const DECLINED = 'The user declined to answer';
const UNANSWERED = /user did not answer/i;

export function checkRound(facts) {
  const findings = [];
  const add = (kind, what) => findings.push({ class: kind, what });
  for (const problem of facts.problems) add('false', problem);
  if (facts.session === undefined) {
    add('lost', 'the session could not be read');
    return findings;
  }
  checkNumbering(facts, add);
  checkRest(facts, add);
  checkPrompts(facts, add);
  checkCards(facts, add);
  checkAnswers(facts, add);
  checkDismissals(facts, add);
  checkAsked(facts, add);
  checkRecords(facts, add);
  return findings;
}

function checkNumbering({ events, session }, add) {
  events.forEach((event, at) => {
    if (event.idx !== at + 1) add('gap', `event ${at + 1} has idx ${event.idx}`);
  });
  if (session.last_event_idx !== events.length)
    add('gap', `last_event_idx ${session.last_event_idx} of ${events.length}`);
}

function checkRest({ settled, session, agents, left, events }, add) {
  const last = events.at(-1);
  if (!settled) add('stuck', `${session.status}, running ${session.running}, last event ${last?.type} (${last?.idx})`);
  if (settled && session.status === 'failed') add('stuck', `failed: ${textOf(events, 'session_error')}`);
  for (const one of session.awaiting) {
    if (!left.includes(one.tool_call_id)) add('stuck', `question ${one.tool_call_id} is ${one.state}`);
    else if (one.state !== 'waiting') add('false', `question ${one.tool_call_id} was left alone and is ${one.state}`);
  }
  if (settled && session.status === 'idle' && agents > 0)
    add('stuck', `${agents} agent process(es) of a session at rest`);
}

function textOf(events, type) {
  const event = events.findLast((each) => each.type === type);
  return event === undefined ? `no ${type}` : `${event.code}: ${event.message}`;
}

const newestOf = (requests) => requests.at(-1);
const isContextLost = (events) =>
  events.some((event) => (event.type === 'notice' || event.type === 'session_error') && event.code === 'context_lost');

/** An agent that is killed before it wrote a run down has forgotten it; the log must say so of that run. */
const isForgotten = (events, runs) =>
  events.some((event) => event.type === 'notice' && event.code === 'run_forgotten' && runs.has(event.run_id));

/** How a token stands with the model: never told, in the newest request once, or otherwise. */
function checkToken({ requests, events }, token, what, { mayBeMissing, runs }, add) {
  const reached = requests.filter((request) => timesTold(request, token) > 0);
  if (reached.length === 0) {
    if (!mayBeMissing) add('lost', `${what}: in none of ${requests.length} requests`);
    return;
  }
  const twice = requests.find((request) => timesTold(request, token) > 1);
  if (twice !== undefined) add('double', `${what}: told ${timesTold(twice, token)} times in request ${twice.n}`);
  const newest = newestOf(requests);
  if (timesTold(newest, token) === 0 && !isContextLost(events) && !isForgotten(events, runs)) {
    add('lost', `${what}: told in request ${reached.at(-1).n}, forgotten in ${newest.n}`);
  }
}

function checkPrompts(facts, add) {
  const { acts, events } = facts;
  const received = events.filter((event) => event.type === 'prompt_received');
  for (const act of acts.filter((one) => one.kind === 'prompt')) {
    if (act.status < 200 || act.status > 202) {
      add('refused', `prompt ${act.key}: ${act.status}`);
      continue;
    }
    const own = received.filter((event) => event.text.includes(mark(act.key)));
    if (own.length !== 1) add(own.length === 0 ? 'lost' : 'double', `prompt ${act.key}: received ${own.length} times`);
  }
  for (const { prompt_id: id, text } of received) {
    const key = /\[\[SOAK:(\w+)\]\]/.exec(text)?.[1];
    const runs = new Set(
      events.flatMap((event) => (event.type === 'run_started' && event.prompt_id === id ? [event.run_id] : [])),
    );
    if (events.some((event) => event.type === 'prompt_dequeued' && event.prompt_id === id)) continue;
    if (runs.size === 0) {
      // Behind a question that is left open it waits with it.
      if (facts.left.length === 0) add('lost', `prompt ${key}: no run`);
      continue;
    }
    if (runs.size > 1) add('double', `prompt ${key}: ${runs.size} runs`);
    const bad = [...runs].some((run) => endsOf(events, run).some((end) => end.type === 'run_interrupted' || !end.ok));
    checkToken(facts, mark(key), `prompt ${key}`, { mayBeMissing: bad, runs }, add);
  }
  for (const run of new Set(events.flatMap((event) => (event.type === 'run_started' ? [event.run_id] : [])))) {
    const ends = endsOf(events, run);
    if (ends.length === 0 && facts.settled) add('stuck', `run ${run} has no end`);
  }
}

function endsOf(events, run) {
  return events.filter((event) => RUN_ENDS.includes(event.type) && event.run_id === run);
}

function checkCards({ events, plan }, add) {
  const calls = events.filter((event) => event.type === 'user_question').map((event) => event.tool_call_id);
  for (const call of new Set(calls)) {
    const cards = calls.filter((each) => each === call).length;
    if (cards > 1) add('double', `question ${call}: ${cards} cards`);
    const closings = events.filter((event) => CLOSINGS.includes(event.type) && event.tool_call_id === call);
    if (closings.length > 1)
      add('double', `question ${call}: closed by ${closings.map((each) => each.type).join(', ')}`);
  }
  const open = new Set();
  for (const event of events) {
    if (event.type === 'user_question') open.add(event.tool_call_id);
    if (CLOSINGS.includes(event.type)) open.delete(event.tool_call_id);
    if (open.size > 1) {
      add('double', `two open cards at ${event.idx}`);
      break;
    }
  }
  for (const event of events) {
    if (event.type !== 'user_question') continue;
    for (const { question } of event.questions) {
      if (!question.includes(` ${plan.tag}p`))
        add('false', `card ${event.tool_call_id} shows another session's question`);
    }
  }
}

function checkAnswers(facts, add) {
  const { acts, events, requests } = facts;
  const sent = acts.filter((act) => act.kind === 'answer');
  const submitted = events.filter((event) => event.type === 'answer_submitted');
  for (const act of sent) {
    if (act.status === 202) {
      if (!submitted.some((event) => event.tool_call_id === act.call && same(event.answers, act.answers)))
        add('lost', `answer to ${act.call}: 202, but the log has none like it`);
    } else if (act.status !== 409) add('refused', `answer to ${act.call}: ${act.status} ${act.code ?? ''}`);
  }
  for (const event of submitted) {
    const call = event.tool_call_id;
    const what = `answer to ${call}`;
    const tries = submitted.filter((each) => each.tool_call_id === call);
    const failures = events.filter((each) => each.type === 'answer_failed' && each.tool_call_id === call).length;
    if (tries.length > failures + 1) add('double', `${what}: stored ${tries.length} times`);
    const tokens = sent.find((act) => act.call === call && same(act.answers, event.answers))?.tokens ?? [];
    const told = events.filter((each) => each.type === 'question_answered' && each.tool_call_id === call);
    const answered = told.length > 0;
    const how = { mayBeMissing: failures > 0 && !answered, runs: new Set(told.map((each) => each.run_id)) };
    if (!answered && failures === 0) add('lost', `${what}: stored, neither answered nor failed`);
    for (const token of tokens) checkToken(facts, token, `${what} "${token}"`, how, add);
  }
  // What was not accepted must not be told.
  const accepted = new Set(submitted.flatMap((event) => Object.values(event.answers).flat()));
  for (const act of sent) {
    for (const token of act.tokens) {
      const ours = [...accepted].some((value) => value.includes(token));
      if (!ours && requests.some((request) => timesTold(request, token) > 0)) {
        add('false', `"${token}" was not accepted (${act.status}) and was told to the model`);
      }
    }
  }
}

function checkDismissals(facts, add) {
  const { acts, events } = facts;
  for (const act of acts.filter((one) => one.kind === 'dismiss')) {
    if (act.status === 202) {
      const closed = events.find((event) => event.type === 'question_dismissed' && event.tool_call_id === act.call);
      if (closed === undefined) add('lost', `dismissal of ${act.call}: 202, but its card is not closed by it`);
      const later = events.filter((event) => event.type === 'run_started' && event.idx > (closed?.idx ?? 0));
      const how = { mayBeMissing: false, runs: new Set(later.map((event) => event.run_id)) };
      if (act.reason !== undefined) checkToken(facts, act.reason, `dismissal of ${act.call}`, how, add);
    } else if (act.status !== 409) add('refused', `dismissal of ${act.call}: ${act.status} ${act.code ?? ''}`);
  }
}

/** Whatever the model asked was shown, or the log says that it came to nothing. */
function checkAsked({ plan, events, requests, acts, session }, add) {
  // What is still owed to a session that gave up is told by checkRest.
  if (session.status === 'failed') return;
  const prompts = acts.filter((act) => act.kind === 'prompt');
  prompts.forEach(({ key }, at) => {
    const kind = at === 0 ? plan.kind : plan.followUps[at - 1];
    asksOf(kind ?? 'plain', key).forEach((questions, step) => {
      for (const question of questions) {
        const asking = requests.filter((each) => each.outcome === 'tool_use' && each.arg === key && each.step === step);
        if (asking.length === 0) continue;
        const carded = events.some(
          (event) =>
            event.type === 'user_question' && event.questions.some((one) => one.question === questionText(question)),
        );
        const withdrawn = events.some(
          (event) =>
            event.type === 'run_interrupted' ||
            (event.type === 'run_completed' && !event.ok) ||
            (event.type === 'notice' && event.level !== 'info'),
        );
        if (!carded && !withdrawn) add('swallowed', `the model asked ${question}; no card, and nothing says why`);
      }
    });
  });
}

/** What requests say about the user must have happened. */
function checkRecords({ acts, events, requests }, add) {
  const interrupted = acts.some((act) => act.kind === 'interrupt');
  const dismissed = events.some((event) => event.type === 'question_dismissed' && event.reason !== 'superseded');
  const answered = new Set(events.flatMap((event) => (event.type === 'question_answered' ? [event.tool_call_id] : [])));
  const told = new Set();
  const once = (what) => {
    if (!told.has(what)) add('false', what);
    told.add(what);
  };
  for (const request of requests) {
    for (const words of wordsOf(request)) {
      const record = USER_RECORDS.map((pattern) => pattern.exec(words)?.[0]).find((found) => found !== undefined);
      if (record !== undefined && !interrupted) once(`request ${request.n} says "${record}", and nobody did`);
      if (words.includes(DECLINED) && !dismissed && !interrupted)
        once(`request ${request.n} says "${DECLINED}", and nobody did`);
      if (UNANSWERED.test(words)) once(`request ${request.n} says that the user did not answer`);
    }
    for (const result of toolResultsOf(request)) {
      if (answered.has(result.tool_use_id) && PLACEHOLDER.test(result.content)) {
        once(`request ${request.n}: ${result.tool_use_id} was answered and reads "${result.content.slice(0, 60)}"`);
      }
    }
  }
}

function wordsOf(request) {
  return request.messages
    .filter((message) => message.role === 'user')
    .flatMap((message) =>
      message.blocks.flatMap((block) =>
        block.type === 'text' ? [block.text] : block.type === 'tool_result' ? [block.content] : [],
      ),
    );
}

function same(a, b) {
  const plain = (answers) => JSON.stringify(Object.entries(answers).sort(([x], [y]) => (x < y ? -1 : 1)));
  return plain(a) === plain(b);
}
