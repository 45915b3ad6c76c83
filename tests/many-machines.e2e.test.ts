// Two servers and two hosts with data folders of their own, sharing nothing but one PostgreSQL and a
// store of session files. Hosts are killed and stopped in the middle of things, PostgreSQL goes down
// hard; whatever was accepted is done, and the log is whole.

import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ApiClient, type ApiEvent, createApiClient } from '@engram/cli';
import {
  createDemoModel,
  type DemoModel,
  type Scenario,
  text,
  timesTold,
  tool,
  toolResultsOf,
} from '@engram/demo-model';
import { openRunDir } from '@engram/host-agent';
import {
  claudeBinary,
  cleanEnvironment,
  type Part,
  type ProcessRow,
  readProcessTable,
  repositoryRoot,
  spawnPart,
  startTestPostgres,
  type TestPostgres,
  toDatabaseUrl,
  versionsToTest,
  waitFor,
} from '@engram/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { QUESTION } from './story.js';

const TOKEN = 'a-token-that-all-servers-share-0123456789';
/** Until a lease of a host that died ends, and until the other has gone on. */
const TAKEN_OVER_MS = 15_000 + 5_000;
/** What the way to a first question takes on a machine that has nothing else to do, with room to spare. */
const QUESTION_MS = 8_000;

const options = [
  { label: 'Formal', description: 'Good day' },
  { label: 'Warm', description: 'Hi there' },
];
const question = { question: QUESTION, header: 'Greeting', multiSelect: false, options };
const bash = (command: string) => tool('Bash', { command, description: 'look' });

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  // A file here, a question, and after the answer a look at that file by its whole path.
  ASKING: (context) => [
    { blocks: [tool('Write', { file_path: `${context.workspace}/notes.txt`, content: 'made before the question\n' })] },
    { blocks: [tool('AskUserQuestion', { questions: [question] })] },
    { blocks: [bash(`cat ${context.workspace}/notes.txt && pwd`)] },
    (turn) => ({ blocks: [text(`I see: ${turn.results.map((result) => result.content).join(' ')}`)] }),
  ],
  // Stands still in the middle until the test lets it go.
  LONG: (context) => [
    { blocks: [tool('Write', { file_path: `${context.workspace}/long.txt`, content: 'half\n' })] },
    { blocks: [text('Now the long part.'), bash('echo done')], gate: 'long' },
    { blocks: [text('The long part is done.')] },
  ],
  BUSY: [{ blocks: [bash('echo one')] }, { blocks: [bash('echo two')] }, { blocks: [text('busy no more')] }],
};

describe.each(versionsToTest())('many machines, Claude Code %s', (version) => {
  let base: string;
  let model: DemoModel;
  let postgres: TestPostgres;
  let url: string;
  const parts: Part[] = [];
  const clients: ApiClient[] = [];
  const hosts = new Map<string, Part>();
  const made: string[] = [];
  const killed = new Set<string>();
  /** Longer where the machine is busy with other things, by as much as a first question took longer. */
  let takenOverMs = TAKEN_OVER_MS;

  const folder = (name: string): string => join(base, name);

  async function start(part: 'serve' | 'host', name: string): Promise<Part> {
    await mkdir(folder(name), { recursive: true, mode: 0o700 });
    const started = spawnPart({
      part,
      databaseUrl: url,
      dataDir: folder(name),
      args: part === 'serve' ? ['--port', '0'] : [],
      env: {
        ENGRAM_API_TOKEN: TOKEN,
        ENGRAM_CLAUDE_BIN: claudeBinary(version),
        ENGRAM_STORE: `file://${folder('store')}`,
        ENGRAM_STORE_KEY: Buffer.alloc(32, 3).toString('base64'),
        ENGRAM_IDLE_MS: '1500',
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: 'made-up-for-tests',
      },
    });
    parts.push(started);
    if (part === 'host') hosts.set(name, started);
    const ready = await started.ready;
    if (part === 'serve') clients.push(createApiClient({ url: String(ready.url), token: TOKEN }));
    return started;
  }

  async function revive(): Promise<void> {
    for (const name of killed) await start('host', name);
    killed.clear();
  }

  /** A command of whoever runs the machines. */
  const engram = (...args: readonly string[]) =>
    JSON.parse(
      String(
        spawnSync(process.execPath, [join(repositoryRoot, 'packages/cli/dist/main.js'), ...args, '--json'], {
          env: cleanEnvironment({ DATABASE_URL: url }),
        }).stdout,
      ),
    );

  const api = (at = made.length): ApiClient => {
    const client = clients[at % clients.length];
    if (client === undefined) throw new Error('no server');
    return client;
  };

  async function create(prompt: string): Promise<string> {
    const { id } = await api().createSession({ prompt, workspace: { kind: 'empty' } });
    made.push(id);
    return id;
  }

  async function eventsOf(id: string): Promise<readonly ApiEvent[]> {
    return (await api().events(id)).events;
  }
  const count = async (id: string, type: string): Promise<number> =>
    (await eventsOf(id)).filter((event) => event.type === type).length;
  const until = (what: string, check: () => Promise<boolean>, ms = 30_000): Promise<true> =>
    waitFor(() => check().catch(() => false), ms, what);

  /** Agents and harnesses of a host, whoever started them. */
  const processes = (name: string): readonly ProcessRow[] =>
    readProcessTable(folder(name), [hosts.get(name)?.pid ?? -1]).filter(({ kind }) => kind !== 'other');
  const runsOn = async (id: string): Promise<string | undefined> => {
    for (const name of hosts.keys()) {
      const found = processes(name).some(
        ({ kind, pid }) => kind === 'agent' && isIn(pid, join(folder(name), 'sessions', id)),
      );
      if (found) return name;
    }
    return undefined;
  };

  async function waiting(id: string): Promise<string> {
    await until('the question to wait', async () => {
      const session = await api().getSession(id);
      return session.status === 'idle' && session.awaiting.length === 1;
    });
    return (await api().getSession(id)).awaiting[0]?.tool_call_id ?? '';
  }

  async function expectWhole(id: string): Promise<void> {
    for (const client of clients) {
      const { events } = await client.events(id);
      expect(events.map((event) => event.idx)).toEqual(events.map((_, at) => at + 1));
      const once = (type: string, key: string): void => {
        const keys = events.filter((event) => event.type === type).map((event) => event[key]);
        expect(new Set(keys).size).toBe(keys.length);
      };
      once('user_question', 'tool_call_id');
      once('question_answered', 'tool_call_id');
      once('answer_submitted', 'tool_call_id');
      once('prompt_received', 'prompt_id');
      once('run_started', 'run_id');
    }
  }

  beforeAll(async () => {
    base = await realpath(await mkdtemp(join(tmpdir(), 'engram-many-')));
    await mkdir(folder('store'), { mode: 0o700 });
    [model, postgres] = await Promise.all([
      createDemoModel({ scenarios: SCENARIOS }),
      startTestPostgres({ fsync: true }),
    ]);
    url = toDatabaseUrl(postgres.connection);
    await Promise.all([start('serve', 's1'), start('serve', 's2'), start('host', 'h1'), start('host', 'h2')]);
  });
  afterAll(async () => {
    for (const part of parts) part.kill('SIGKILL');
    // What a killed host left running holds its pipes open.
    for (const name of hosts.keys()) for (const { pid } of processes(name)) kill(pid);
    await Promise.all(parts.map((part) => part.exited));
    await postgres.stop();
    await model.close();
    for (const name of await readdir(base)) await rm(await openRunDir(folder(name)), { recursive: true, force: true });
    await rm(base, { recursive: true, force: true });
  });

  it('a host is killed in a turn and while a question waits: the other answers and goes on, within the lease and five seconds', async () => {
    const begunAt = Date.now();
    const asking = [await create('[[ASKING]]'), await create('[[ASKING]]')];
    const calls = [await waiting(asking[0] ?? ''), await waiting(asking[1] ?? '')];
    takenOverMs += Math.max(0, Date.now() - begunAt - QUESTION_MS);
    model.hold('long');
    // Until both hosts run one.
    const long = [await create('[[LONG]]'), await create('[[LONG]]')];
    for (const id of long) await until('the turn', async () => (await count(id, 'file_changed')) === 1);
    const where = await Promise.all(long.map(runsOn));
    expect(new Set(where)).toEqual(new Set(['h1', 'h2']));
    const victim = where[0] ?? '';
    const other = where[1] ?? '';

    const { hosts: rows } = engram('hosts');
    expect(rows).toMatchObject([
      { alive: true, draining: false, sessions: 1 },
      { alive: true, draining: false, sessions: 1 },
    ]);
    expect(rows[0].store_id).toBe(rows[1].store_id);

    hosts.get(victim)?.kill('SIGKILL');
    killed.add(victim);
    const killedAt = Date.now();
    for (const [at, id] of asking.entries()) await api(at).answer(id, calls[at] ?? '', { [QUESTION]: ['Warm'] });
    model.open('long');
    for (const id of asking) {
      await until(
        'the answer to be used',
        async () => (await eventsOf(id)).some((event) => says(event, 'I see')),
        takenOverMs,
      );
      const said = (await eventsOf(id)).find((event) => says(event, 'I see'));
      expect(said?.text).toContain('made before the question');
      expect(said?.text).toContain(join(folder(other), 'sessions', id, 'workspace'));
    }
    for (const id of long)
      await until(
        'the long turn',
        async () => (await eventsOf(id)).some((event) => says(event, 'The long part is done.')),
        2 * takenOverMs,
      );
    // By the database's clock, which is this machine's: the answers are used, the cut turn has begun again.
    for (const [id, type] of [
      ...asking.map((one) => [one, 'question_answered'] as const),
      [long[0] ?? '', 'run_started'],
    ]) {
      const last = (await eventsOf(id)).filter((event) => event.type === type).at(-1);
      expect(Date.parse(String(last?.at)) - killedAt).toBeLessThan(takenOverMs);
    }

    const [broken = '', unharmed = ''] = long;
    const story = await eventsOf(broken);
    expect(story.filter((event) => event.type === 'run_interrupted')).toHaveLength(1);
    expect(story.filter((event) => event.type === 'session_error')).toMatchObject([{ code: 'context_lost' }]);
    const starts = story.filter((event) => event.type === 'run_started').map((event) => event.prompt_id);
    expect(starts).toHaveLength(2);
    expect(new Set(starts).size).toBe(1);
    expect(await count(unharmed, 'session_error')).toBe(0);
    // The model heard of each answer in one result, in the same call that asked.
    for (const [at, id] of asking.entries()) {
      expect(await count(id, 'session_error')).toBe(0);
      const heard = model.requests.filter((request) =>
        toolResultsOf(request).some((one) => one.tool_use_id === calls[at]),
      );
      expect(heard.length).toBeGreaterThan(0);
      for (const request of heard) expect(timesTold(request, 'Warm')).toBe(1);
    }
    for (const id of made) await expectWhole(id);

    // Back again: it ends what it left running, and takes part.
    await revive();
    await until('the old agents to be gone', () =>
      Promise.resolve(processes(victim).every(({ kind }) => kind !== 'agent')),
    );
  });

  it('a host that stood still comes back to find its session elsewhere: what it says is refused, and it lets go', async () => {
    await revive();
    model.hold('long');
    const id = await create('[[LONG]]');
    await until('the turn', async () => (await count(id, 'file_changed')) === 1);
    const stopped = (await runsOn(id)) ?? '';
    const pid = hosts.get(stopped)?.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    const before = await until(
      'the other to begin it again',
      async () => (await count(id, 'run_started')) === 2,
      takenOverMs,
    )
      .then(async () => (await eventsOf(id)).length)
      .finally(() => process.kill(pid, 'SIGCONT'));
    // Its agent was in the middle of the same turn and goes on with it: nothing of that may be stored.
    model.open('long');
    await until('the turn to end', async () => (await count(id, 'run_completed')) === 1);
    await until('it lets go', () =>
      Promise.resolve(processes(stopped).every((row) => row.kind !== 'agent' || !isIn(row.pid, id))),
    );
    const after = await eventsOf(id);
    const late = after.slice(before);
    const secondRun = after.filter((event) => event.type === 'run_started')[1]?.run_id;
    for (const event of late) if (event.run_id !== undefined) expect(event.run_id).toBe(secondRun);
    expect(after.filter((event) => says(event, 'The long part is done.'))).toHaveLength(1);
    await expectWhole(id);
  });

  it('a drained host takes nothing new, and takes again when it may', async () => {
    const [first, second] = engram('hosts').hosts;
    expect(engram('host', 'drain', first.host_id, '--wait')).toMatchObject({ draining: true, sessions: 0 });
    const ids = [await create('[[BUSY]]'), await create('[[BUSY]]'), await create('[[BUSY]]')];
    for (const id of ids) await until('the turn', async () => (await count(id, 'run_started')) === 1);
    expect(engram('hosts').hosts).toMatchObject([
      { host_id: first.host_id, draining: true, sessions: 0 },
      { host_id: second.host_id, draining: false, sessions: 3 },
    ]);
    expect(engram('host', 'drain', first.host_id, '--undo')).toMatchObject({ draining: false });
    for (const id of ids) await until('sleep', async () => (await api().getSession(id)).status === 'idle');
  });

  it('PostgreSQL goes down hard under load and comes back: every accepted prompt is done once, and the log is whole', async () => {
    const sessions = [await create('[[BUSY]]'), await create('[[BUSY]]'), await create('[[BUSY]]')];
    const accepted = new Map<string, string[]>(sessions.map((id) => [id, []]));
    let loading = true;
    const load = sessions.map(async (id, at) => {
      for (let n = 0; loading || n < 2; n += 1) {
        const promptId = crypto.randomUUID();
        // Again until it is stored; the same id twice is one prompt.
        await until('a prompt to be taken', async () => (await api(at).prompt(id, '[[BUSY]]', promptId)) === promptId);
        accepted.get(id)?.push(promptId);
        await delay(700);
      }
    });
    await delay(1_500);
    await postgres.crashAndRestart(500);
    await delay(1_500);
    loading = false;
    await Promise.all(load);
    for (const id of sessions) {
      await until('all to be done', async () => {
        const session = await api().getSession(id);
        return !session.running && session.undelivered.length === 0 && session.status === 'idle';
      });
      const starts = (await eventsOf(id))
        .filter((event) => event.type === 'run_started')
        .map((event) => event.prompt_id);
      for (const promptId of accepted.get(id) ?? []) expect(starts.filter((one) => one === promptId)).toHaveLength(1);
      await expectWhole(id);
    }
  });
});

function says(event: ApiEvent, words: string): boolean {
  return event.type === 'agent_message' && String(event.text).includes(words);
}

/** Whether a process works for the session whose folder or id is named. */
function isIn(pid: number, what: string): boolean {
  return spawnSync('sh', ['-c', 'tr "\\0" "\\n" < "/proc/$1/environ"', 'sh', String(pid)]).stdout.includes(what);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It went by itself.
  }
}
