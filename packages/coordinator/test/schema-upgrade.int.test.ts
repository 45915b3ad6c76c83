// A database as each release left it, brought up by this tree: everything is readable as that release read it,
// what was owed is still owed, and work goes on. The fixtures are made by scripts/schema-fixture.mjs.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { HarnessEvent } from '@engram/harness-proto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dumpDatabase, restoreDatabase, withBackupClient } from '../src/backup/index.js';
import type { Coordinator, PostgresConnection } from '../src/index.js';
import { SCHEMA_STEPS } from '../src/migrate.js';
import { ada, allEvents, claimOne, hostInfo } from './scenes.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

const fixtures = fileURLToPath(new URL('./fixtures/schema', import.meta.url));
const releases: readonly { version: string }[] = JSON.parse(
  readFileSync(fileURLToPath(new URL('../../../releases.json', import.meta.url)), 'utf8'),
);

interface Told {
  readonly sessions: readonly {
    readonly id: string;
    readonly title: string;
    readonly undelivered: readonly { kind: string; id: string }[];
  }[];
  readonly events: Readonly<Record<string, readonly unknown[]>>;
  readonly pending: readonly unknown[];
  readonly hosts: readonly Record<string, unknown>[];
}

const log = pino({ level: 'silent' });
let database: TestDatabase;
beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database.stop());

it('has a fixture of every release', () => {
  const versions = readdirSync(fixtures)
    .filter((name) => name.endsWith('.sql'))
    .map((name) => name.slice(0, -4));
  expect(versions).toEqual(expect.arrayContaining(releases.map(({ version }) => version)));
});

describe.each(releases)('a database of release $version', ({ version }) => {
  const told: Told = JSON.parse(readFileSync(join(fixtures, `${version}.json`), 'utf8'));
  let connection: PostgresConnection;
  let coordinator: Coordinator;
  const idOf = (title: string): string => told.sessions.find((session) => session.title === title)?.id ?? '';

  beforeAll(async () => {
    connection = await database.makeDatabase();
    await database.query(connection, readFileSync(join(fixtures, `${version}.sql`), 'utf8'));
    coordinator = await database.createCoordinator({ connection });
  });

  it('has every step of this release afterwards, and the level it had', async () => {
    const names = await database.query(connection, 'select name from engram_schema_additions');
    expect(names.map(({ name }) => String(name)).sort()).toEqual(
      SCHEMA_STEPS.flatMap((step) => (step.kind === 'addition' ? [step.name] : [])).sort(),
    );
  });

  it('reads as it did: sessions, every event, pending questions, hosts, tokens', async () => {
    const page = await coordinator.listSessions({ owner: ada.id, limit: 100 });
    const sessions = 'items' in page ? page.items : [];
    expect(sessions.map((session) => session.id)).toEqual(told.sessions.map((session) => session.id));
    expect(sessions).toMatchObject(told.sessions);
    for (const { id } of told.sessions) expect(await allEvents(coordinator, id)).toEqual(told.events[id]);
    const pending = await coordinator.listPendingQuestions({ owner: ada.id, limit: 100 });
    expect('items' in pending ? pending.items : []).toMatchObject(told.pending);
    expect((await coordinator.listHosts()).map(({ host_id }) => host_id)).toEqual(
      told.hosts.map((host) => host.host_id),
    );
    expect(await coordinator.findTokenOwner(Buffer.alloc(32, 7))).toEqual(ada);
    expect(await coordinator.figures()).toMatchObject({ questionsWaiting: expect.any(Number) });
  });

  it('is backed up before its upgrade, and restored into this release', async () => {
    const old = await database.makeDatabase();
    await database.query(old, readFileSync(join(fixtures, `${version}.sql`), 'utf8'));
    const parts: Buffer[] = [];
    await withBackupClient(old, log, async (client) => {
      for await (const part of dumpDatabase(client, version)) parts.push(part);
    });
    const target = await database.makeDatabase();
    await restoreDatabase(target, Readable.from(parts), log);
    const restored = await database.createCoordinator({ connection: target });
    for (const { id } of told.sessions) expect(await allEvents(restored, id)).toEqual(told.events[id]);
  });

  it('goes on: what waits is answered, what was owed is delivered in order, the log has no gap', async () => {
    await coordinator.heartbeat(hostInfo('h1'));
    const waiting = idOf('waiting');
    const answers = { 'Which editor?': ['emacs'] };
    expect(await coordinator.acceptAnswer(waiting, { tool_call_id: 'toolu_waiting', answers, by: ada })).toEqual({
      ok: true,
      state: 'sent',
    });
    // Leases of the fixture ended long ago.
    const claims = await coordinator.claimSessions('h1', 100);
    for (const title of ['waiting', 'sent', 'dismissed']) {
      const id = idOf(title);
      const claim = claims.find(({ session }) => session.id === id);
      if (claim === undefined) throw new Error(`${title} was not claimable`);
      const { epoch, lastHarnessSeq } = claim;
      const facts = await coordinator.attachFacts(id, epoch);
      if (!('commands' in facts)) throw new Error(facts.reason);
      const [command] = facts.commands.map((each) => each.command);
      if (title === 'dismissed')
        expect(command).toMatchObject({ type: 'dismiss_question', tool_call_id: 'toolu_dismissed' });
      else expect(command).toMatchObject({ type: 'answer_question', tool_call_id: `toolu_${title}` });
      const said: readonly HarnessEvent[] = [
        { type: 'run_started', run_id: 'r9' },
        title === 'dismissed'
          ? { type: 'question_dismissed', run_id: 'r9', tool_call_id: 'toolu_dismissed', reason: 'no' }
          : {
              type: 'question_answered',
              run_id: 'r9',
              tool_call_id: `toolu_${title}`,
              answers: title === 'sent' ? { 'Which editor?': ['vi'] } : answers,
            },
        { type: 'run_completed', run_id: 'r9', ok: true },
      ];
      const numbered = said.map((event, at) => ({ seq: lastHarnessSeq + at + 1, event }));
      expect(await coordinator.appendEvents(id, epoch, numbered)).toMatchObject({ ok: true });
      await coordinator.releaseLease(id, epoch, 'idle');
      const session = await coordinator.getSession(id);
      expect(session).toMatchObject({ awaiting: [], undelivered: [] });
      const events = await allEvents(coordinator, id);
      expect(events.map((event) => event.idx)).toEqual(events.map((_, at) => at + 1));
      expect(session?.last_event_idx).toBe(events.length);
    }
    const failed = idOf('failed');
    await coordinator.wake(failed);
    expect((await claimOne(coordinator, failed)).epoch).toBeGreaterThan(1);
    expect(await coordinator.deleteSession(idOf('created'))).toBe(true);
  });
});
