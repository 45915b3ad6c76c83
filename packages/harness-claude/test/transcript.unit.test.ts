import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  hasDeferredMarker,
  hasToolResult,
  hasUserLine,
  isPoisoned,
  parseTranscript,
  toolResults,
  toolResultText,
  toolUses,
  traceOfUserLine,
} from '../src/transcript.js';
import { projectFolderName } from '../src/transcript-file.js';
import { deferredMarker } from '../src/transcript-marker.js';
import { scrubTranscript } from '../src/transcript-scrub.js';
import { allTranscripts, fixtureBytes, VERSIONS } from './fixture-streams.js';

const load = (version: string, name: string) => parseTranscript(fixtureBytes(version, `${name}.transcript`));

/** Ids of the question calls in the order of their lines. */
function questionIds(version: string, name: string): string[] {
  return load(version, name)
    .lines.flatMap(toolUses)
    .filter((use) => use.name === 'AskUserQuestion')
    .map((use) => use.id);
}
const firstQuestion = (version: string, name: string) => questionIds(version, name)[0] ?? '';
const promptUuid = (version: string, name: string) =>
  load(version, name).lines.find((line) => line.kind === 'user')?.uuid ?? '';

interface Row {
  readonly [key: string]: unknown;
  readonly uuid?: string;
  readonly parentUuid?: string | null;
}
const toBytes = (rows: readonly (Row | string)[]) =>
  Buffer.from(rows.map((row) => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`).join(''));
const fromBytes = (bytes: Uint8Array): unknown[] =>
  Buffer.from(bytes)
    .toString('utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

const user = (uuid: string, parent: string | null, content: unknown, rest: object = {}): Row => ({
  parentUuid: parent,
  isSidechain: false,
  type: 'user',
  message: { role: 'user', content },
  uuid,
  ...rest,
});
const assistant = (uuid: string, parent: string, id: string, block: object, stop = 'tool_use'): Row => ({
  parentUuid: parent,
  isSidechain: false,
  type: 'assistant',
  message: { id, role: 'assistant', content: [block], stop_reason: stop },
  uuid,
});
const ask = (id: string) => ({ type: 'tool_use', id, name: 'AskUserQuestion', input: {} });
const bash = (id: string) => ({ type: 'tool_use', id, name: 'Bash', input: {} });
const words = (text: string) => ({ type: 'text', text });
const marker = (uuid: string, parent: string, id: string, type = 'hook_deferred_tool'): Row => ({
  parentUuid: parent,
  isSidechain: false,
  type: 'attachment',
  attachment: { type, toolUseID: id },
  uuid,
});
const result = (id: string, content = 'x') => [{ type: 'tool_result', tool_use_id: id, content }];
const asked: readonly Row[] = [
  user('u1', null, 'go'),
  assistant('a1', 'u1', 'm1', ask('q1')),
  marker('h1', 'a1', 'q1'),
];
const narration = assistant('n1', 'h1', 'm2', words('error'), 'end_turn');

describe('facts of recorded transcripts', () => {
  it.each(VERSIONS)('finds the prompt, the marker and no answer after a clean defer of %s', (version) => {
    const transcript = load(version, 'defer-ask1');
    const id = firstQuestion(version, 'defer-ask1');
    expect(hasUserLine(transcript, promptUuid(version, 'defer-ask1'))).toBe(true);
    expect(hasUserLine(transcript, 'elsewhere')).toBe(false);
    expect(hasDeferredMarker(transcript, id)).toBe(true);
    expect(hasToolResult(transcript, id)).toBe(false);
    expect(isPoisoned(transcript, id)).toBe(false);
    expect(traceOfUserLine(transcript, promptUuid(version, 'defer-ask1'))).toBe('finished');
  });

  it.each(VERSIONS)('finds the answer of a resumed %s', (version) => {
    const transcript = load(version, 'resume-answer-multi');
    const id = firstQuestion(version, 'resume-answer-multi');
    expect(toolResultText(transcript, id)).toContain('"Which languages?"="Python');
    expect(isPoisoned(transcript, id)).toBe(false);
    expect(traceOfUserLine(transcript, promptUuid(version, 'resume-answer-multi'))).toBe('finished');
  });

  it.each([
    ['2.1.183', 'root-C'],
    ['2.1.186', 'root-C'],
    ['2.1.187', 'root-C'],
    ['2.1.200', 'root-C'],
    ['2.1.181', 'continuation-stop'],
    ['2.1.183', 'root-DUP'],
    ['2.1.183', 'bg-poison'],
    ['2.1.332', 'bg-poison'],
    ['2.1.332', 'live-new-prompt-after-defer'],
  ])('sees that %s %s is poisoned', (version, name) => {
    expect(isPoisoned(load(version, name), firstQuestion(version, name))).toBe(true);
  });

  it.each([
    ['2.1.89', 'root-C'],
    ['2.1.215', 'root-C'],
    ['2.1.332', 'root-C'],
    ['2.1.183', 'root-H'],
    ['2.1.183', 'parallel-two-auq'],
    ['2.1.183', 'parallel-bash-auq'],
  ])('sees that %s %s is clean', (version, name) => {
    expect(isPoisoned(load(version, name), firstQuestion(version, name))).toBe(false);
  });

  it('does not take the placeholder for an answer', () => {
    const bytes = toBytes([...asked, user('r1', 'h1', result('q1', '[Tool result missing due to internal error]'))]);
    expect(hasToolResult(parseTranscript(bytes), 'q1')).toBe(false);
    expect(hasToolResult(parseTranscript(toBytes([...asked, user('r1', 'h1', result('q1'))])), 'q1')).toBe(true);
  });

  it('tells a cut turn from a finished one', () => {
    const turn = [user('u1', null, 'go'), assistant('a1', 'u1', 'm1', bash('t1')), user('r1', 'a1', result('t1'))];
    const done = assistant('a2', 'r1', 'm2', words('done'), 'end_turn');
    const trace = (rows: readonly Row[]) => traceOfUserLine(parseTranscript(toBytes(rows)), 'u1');
    expect(trace(turn.slice(1))).toBe('absent');
    for (const n of [1, 2, 3]) expect(trace(turn.slice(0, n))).toBe('unfinished');
    expect(trace([...turn, done])).toBe('finished');
    expect(trace([...turn, user('i', 'r1', [words('[Request interrupted by user for tool use]')])])).toBe('finished');
    expect(trace([...turn, user('u2', 'r1', 'next'), done])).toBe('unfinished');
  });

  it('names the folder as the CLI does', () => {
    expect(projectFolderName('/tmp/a_b.c/Ünï')).toBe('-tmp-a-b-c--n-');
  });
});

describe('scrubbing', () => {
  it.each(['root-C', 'root-DUP'])('repairs the recorded 2.1.183 %s byte for byte as the known good one', (name) => {
    const found = scrubTranscript(fixtureBytes('2.1.183', `${name}.transcript`), firstQuestion('2.1.183', name));
    if (!found.ok) throw new Error(found.reason);
    const good = fixtureBytes('2.1.183', `${name}.scrubbed-transcript`);
    expect(Buffer.from(found.bytes).toString('utf8').trimEnd()).toBe(good.toString('utf8').trimEnd());
  });

  it.each([
    ['2.1.183', 'bg-poison'],
    ['2.1.332', 'bg-poison'],
    ['2.1.181', 'continuation-stop'],
    ['2.1.200', 'root-C'],
  ])('leaves the question of %s %s unanswered and unpoisoned, with the marker last', (version, name) => {
    const id = firstQuestion(version, name);
    const found = scrubTranscript(fixtureBytes(version, `${name}.transcript`), id);
    if (!found.ok) throw new Error(found.reason);
    const transcript = parseTranscript(found.bytes);
    expect(isPoisoned(transcript, id)).toBe(false);
    expect(hasDeferredMarker(transcript, id)).toBe(true);
    expect(scrubTranscript(found.bytes, id)).toMatchObject({ ok: true, removed: 0, relinked: 0 });
  });

  it.each(allTranscripts())('changes no line of %s %s beyond its links, or declines', (version, name) => {
    const bytes = fixtureBytes(version, name);
    for (const id of questionIds(version, name.replace('.transcript', ''))) {
      const found = scrubTranscript(bytes, id);
      if (!found.ok) continue;
      const before = new Set(bytes.toString('utf8').split('\n').map(withoutLinks));
      for (const line of Buffer.from(found.bytes).toString('utf8').split('\n')) {
        expect(before.has(withoutLinks(line))).toBe(true);
      }
      expect(danglingLinks(found.bytes)).toEqual(danglingLinks(bytes));
    }
  });

  it('keeps the duplicate when it is the one on the card', () => {
    const [, second] = questionIds('2.1.183', 'root-DUP');
    const bytes = fixtureBytes('2.1.183', 'root-DUP.transcript');
    expect(scrubTranscript(bytes, second ?? '')).toEqual({ ok: true, bytes, removed: 0, relinked: 0 });
  });

  it('removes a denied duplicate with its result and what was said afterwards', () => {
    const rows = [
      ...asked,
      assistant('a2', 'h1', 'm2', ask('q2')),
      marker('h2', 'a2', 'q2', 'hook_blocking_error'),
      user('r2', 'a2', result('q2', 'one at a time')),
      assistant('a3', 'r2', 'm3', words('fine'), 'end_turn'),
      { type: 'last-prompt', leafUuid: 'a3' },
    ];
    const found = scrubTranscript(toBytes(rows), 'q1');
    expect(found).toMatchObject({ ok: true, removed: 4, relinked: 1 });
    expect(found.ok && fromBytes(found.bytes)).toEqual([...asked, { type: 'last-prompt', leafUuid: 'h1' }]);
  });

  it('keeps the other calls of the same message and their results (RES-05)', () => {
    const rows = [
      user('u1', null, 'go'),
      assistant('b1', 'u1', 'm1', bash('t1')),
      assistant('a1', 'b1', 'm1', ask('q1')),
      user('r1', 'b1', result('t1')),
      marker('h1', 'r1', 'q1'),
      assistant('n1', 'h1', 'm2', words('error')),
    ];
    const found = scrubTranscript(toBytes(rows), 'q1');
    expect(found.ok && fromBytes(found.bytes)).toEqual(rows.slice(0, 5));
  });

  it('removes the records of requests behind the marker, which would keep the hook from firing', () => {
    const request = { type: 'api-request', requestId: 'r', shapeHash: 'x' };
    const rows = [request, ...asked, { type: 'api-request-blob' }, request, narration, { type: 'cost-state' }];
    const found = scrubTranscript(toBytes(rows), 'q1');
    expect(found.ok && fromBytes(found.bytes)).toEqual([request, ...asked, { type: 'cost-state' }]);
  });

  it('keeps torn and foreign lines byte for byte (RES-06)', () => {
    const torn = '{"type":"user","uu{"parentUuid":null,"uuid":"u2"}';
    const foreign = '{ "type": "new-thing",\t"x": "\\u0041\u2028" }';
    const rows = [torn, ...asked, foreign, narration, { type: 'last-prompt', leafUuid: 'n1' }, '{"type":"assist'];
    const bytes = toBytes(rows).subarray(0, -1);
    const found = scrubTranscript(bytes, 'q1');
    if (!found.ok) throw new Error(found.reason);
    const expected = toBytes([
      torn,
      ...asked,
      foreign,
      { type: 'last-prompt', leafUuid: 'h1' },
      '{"type":"assist',
    ]).subarray(0, -1);
    expect(Buffer.from(found.bytes).toString('utf8')).toBe(expected.toString('utf8'));
  });

  it.each([
    ['question_missing', [user('u1', null, 'go')]],
    ['question_missing', [JSON.stringify(asked[1]).slice(0, 60), ...asked.slice(2)]],
    ['question_twice', [...asked, assistant('a9', 'h1', 'm2', ask('q1'))]],
    ['marker_missing', asked.slice(0, 2)],
    ['already_answered', [...asked, user('r1', 'h1', result('q1'))]],
    ['prompt_after_question', [...asked, user('u2', 'h1', 'never mind'), assistant('a2', 'u2', 'm2', words('ok'))]],
    [
      'tools_ran_after_question',
      [...asked, assistant('a2', 'h1', 'm2', bash('t1')), user('r1', 'a2', result('t1')), narration],
    ],
    [
      'unclear_line',
      [...asked, narration, { parentUuid: 'n1', type: 'system', inner: { parentUuid: 'n1' }, uuid: 's1' }],
    ],
    [
      'unclear_line',
      [...asked, assistant('a2', 'h1', 'm2', ask('q2')), user('r1', 'a2', [...result('q2'), ...result('other')])],
    ],
  ] satisfies [string, (Row | string)[]][])('declines with %s', (reason, rows) => {
    expect(scrubTranscript(toBytes(rows), 'q1')).toEqual({ ok: false, reason });
  });

  it('leaves no new dangling link in any tree, and only lines it found (RES-08)', () => {
    const kinds = fc.constantFrom('text', 'duplicate', 'denied', 'progress', 'summary', 'task', 'side');
    const tail = fc.array(fc.record({ kind: kinds, parent: fc.nat(30), torn: fc.boolean() }), { maxLength: 25 });
    fc.assert(
      fc.property(tail, fc.boolean(), (specs, leaf) => {
        const rows: (Row | string)[] = [...asked, { parentUuid: 'gone', type: 'system', uuid: 'd1' }];
        const uuids = ['u1', 'a1', 'h1', 'd1'];
        specs.forEach((spec, i) => {
          const uuid = `x${i}`;
          const parent = uuids[spec.parent % uuids.length] ?? 'h1';
          rows.push(...rowsOf(spec.kind, uuid, parent, i));
          if (spec.torn) rows.push(`{"uuid":"${uuid}","torn":`);
          uuids.push(uuid);
        });
        if (leaf) rows.push({ type: 'last-prompt', leafUuid: uuids.at(-1) ?? '' });
        const bytes = toBytes(rows);
        const found = scrubTranscript(bytes, 'q1');
        if (!found.ok) throw new Error(found.reason);
        expect(danglingLinks(found.bytes)).toEqual(danglingLinks(bytes));
        expect(unlikeCalls(found.bytes)).toEqual(unlikeCalls(bytes));
        expect(isPoisoned(parseTranscript(found.bytes), 'q1')).toBe(false);
        const before = new Set(bytes.toString('utf8').split('\n').map(withoutLinks));
        const after = Buffer.from(found.bytes).toString('utf8').split('\n');
        expect(after.every((line) => before.has(withoutLinks(line)))).toBe(true);
        expect(after.length).toBe(bytes.toString('utf8').split('\n').length - found.removed);
        // A kept line hangs below the nearest of its old ancestors that was kept.
        expect(parentsOf(found.bytes)).toEqual(expectedParents(bytes, found.bytes));
      }),
    );
  });
});

/** Results without their call, and calls that stand there twice: a request with one of them is refused (RES-05). */
function unlikeCalls(bytes: Uint8Array): string[] {
  const { lines } = parseTranscript(bytes);
  const calls = lines.flatMap((line) => toolUses(line).map((use) => use.id));
  const orphans = lines
    .flatMap((line) => toolResults(line).map((one) => one.toolUseId))
    .filter((id) => !calls.includes(id));
  return [...orphans, ...calls.filter((id, i) => calls.indexOf(id) !== i)];
}

function rowsOf(kind: string, uuid: string, parent: string, i: number): Row[] {
  switch (kind) {
    case 'text':
      return [assistant(uuid, parent, `n${i}`, words('error'))];
    case 'duplicate':
      return [assistant(uuid, parent, `n${i}`, ask(`dup${i}`)), marker(`${uuid}h`, uuid, `dup${i}`)];
    case 'denied':
      return [assistant(uuid, parent, `n${i}`, ask(`den${i}`)), user(`${uuid}r`, uuid, result(`den${i}`))];
    case 'task':
      return [user(uuid, parent, '<task-notification>', { origin: { kind: 'task-notification' } })];
    case 'side':
      return [{ ...assistant(uuid, parent, `n${i}`, words('inside')), isSidechain: true }];
    case 'summary':
      return [{ type: 'system', subtype: 'x', uuid, parentUuid: parent, logicalParentUuid: parent }];
    default:
      return [{ type: 'progress', uuid, parentUuid: parent }];
  }
}

function withoutLinks(line: string): string {
  return line.replace(/"(parentUuid|leafUuid|logicalParentUuid)":("[^"]*"|null)/g, '"$1":_');
}

/** Link targets that no line has. */
function danglingLinks(bytes: Uint8Array): string[] {
  const { lines } = parseTranscript(bytes);
  const uuids = new Set(lines.map((line) => line.uuid));
  const targets = lines.flatMap((line) => [line.parentUuid, line.record?.leafUuid, line.record?.logicalParentUuid]);
  const missing = targets.filter((target) => typeof target === 'string' && !uuids.has(target));
  return [...new Set(missing.map(String))].sort();
}

function parentsOf(bytes: Uint8Array): Map<string, string | undefined> {
  const { lines } = parseTranscript(bytes);
  return new Map(lines.flatMap((line) => (line.uuid === undefined ? [] : [[line.uuid, line.parentUuid]])));
}

function expectedParents(before: Uint8Array, after: Uint8Array): Map<string, string | undefined> {
  const old = parentsOf(before);
  const kept = parentsOf(after);
  const expected = new Map<string, string | undefined>();
  for (const uuid of kept.keys()) {
    let parent = old.get(uuid);
    while (parent !== undefined && old.has(parent) && !kept.has(parent)) parent = old.get(parent);
    expected.set(uuid, parent);
  }
  return expected;
}

describe('restoring the resume marker', () => {
  const facts = { uuid: 'f1', nowIso: '2030-01-01T00:00:00.000Z', permissionMode: 'default' };

  it.each(VERSIONS)('writes the line %s would have written', (version) => {
    const bytes = fixtureBytes(version, 'defer-ask1.transcript');
    const id = firstQuestion(version, 'defer-ask1');
    const lines = bytes.toString('utf8').split('\n');
    const at = lines.findIndex((line) => line.includes('hook_deferred_tool'));
    const original: Record<string, unknown> = JSON.parse(lines[at] ?? '{}');
    const cut = Buffer.from(`${lines.slice(0, at).join('\n')}\n`);
    const attachment = original.attachment;
    const input =
      typeof attachment === 'object' && attachment && 'toolInput' in attachment ? attachment.toolInput : undefined;
    const made = deferredMarker(
      parseTranscript(cut),
      { id, name: 'AskUserQuestion', input },
      { uuid: String(original.uuid), nowIso: String(original.timestamp), permissionMode: 'bypassPermissions' },
    );
    if (!made.ok || !made.append) throw new Error('nothing made');
    expect(JSON.parse(Buffer.from(made.append).toString('utf8'))).toEqual(original);
    expect(hasDeferredMarker(parseTranscript(Buffer.concat([cut, made.append])), id)).toBe(true);
  });

  it('starts on a line of its own after a torn one, and adds nothing twice', () => {
    const call = { id: 'q1', name: 'AskUserQuestion', input: {} };
    const torn = parseTranscript(Buffer.concat([toBytes(asked.slice(0, 2)), Buffer.from('{"type":"att')]));
    const made = deferredMarker(torn, call, facts);
    expect(made.ok && made.append && Buffer.from(made.append).toString('utf8').startsWith('\n{"parentUuid":"a1"')).toBe(
      true,
    );
    expect(deferredMarker(parseTranscript(toBytes(asked)), call, facts)).toEqual({ ok: true, append: undefined });
  });

  it.each([
    ['question_missing', asked.slice(0, 1)],
    ['already_answered', [...asked.slice(0, 2), user('r1', 'a1', result('q1'))]],
    ['went_on', [...asked.slice(0, 2), narration]],
  ] satisfies [string, readonly Row[]][])('declines with %s', (reason, rows) => {
    const call = { id: 'q1', name: 'AskUserQuestion', input: {} };
    expect(deferredMarker(parseTranscript(toBytes(rows)), call, facts)).toEqual({ ok: false, reason });
  });
});
