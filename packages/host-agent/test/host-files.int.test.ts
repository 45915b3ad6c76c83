// Hosts that share a store: a session sleeps when its files are stored and goes on wherever it wakes;
// a store that fails keeps it awake and loses nothing.

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type FileStore, openStore, StoreError } from '../src/index.js';
import { killHost, openStack, type Stack, said, spawnHost, type TestHost, types } from './host-fixture.js';

let stack: Stack;
let folder: string;
let address: string;

beforeAll(async () => {
  stack = await openStack();
  folder = join(stack.base, 'store');
  address = `file://${folder}`;
  await mkdir(folder);
});
afterEach(() => stack.closeHosts());
afterAll(() => stack.close());

/** A store that can be told to fail. */
async function brittleStore(): Promise<FileStore & { broken: boolean }> {
  const store = await openStore({ address }, stack.log);
  const brittle = {
    ...store,
    broken: false,
    save: (...given: Parameters<FileStore['save']>) =>
      brittle.broken
        ? Promise.reject(new StoreError('store_full', 'The store is full. Free some space in it.'))
        : store.save(...given),
  };
  return brittle;
}

const codes = async (id: string): Promise<readonly unknown[]> =>
  (await stack.events(id)).flatMap((event) => (event.type === 'session_error' && 'code' in event ? [event.code] : []));

const inWorkspace = (host: TestHost, id: string): string => join(host.dataDir, 'sessions', id, 'workspace/file.txt');

/** Runs a prompt to its end; gives what the agent said last. */
async function run(id: string, text: string): Promise<string | undefined> {
  const before = (await stack.events(id)).filter((event) => event.type === 'run_completed').length;
  await stack.prompt(id, text);
  await stack.untilEvent(id, 'run_completed', before + 1, 20_000);
  return said(await stack.events(id)).at(-1);
}

describe('hosts that share a store', () => {
  it('hand a sleeping session over: state, workspace and question are where it wakes, and older copies are replaced', async () => {
    const store = await openStore({ address }, stack.log);
    const first = await stack.startHost({ store, idleMs: 600_000 });
    const { id } = await stack.createSession('starts');
    await stack.untilEvent(id, 'run_completed');
    // Before the question: its session is put to sleep at once.
    await writeFile(inWorkspace(first, id), 'from the first');
    await stack.prompt(id, 'ask');
    await stack.untilStatus(id, 'idle');
    await first.agent.close();
    const second = await stack.startHost({ store });
    await stack.answer(id, 'toolu_2');
    await stack.untilEvent(id, 'question_answered');
    expect(await readFile(inWorkspace(second, id), 'utf8')).toBe('from the first');
    expect(await run(id, 'starts')).toBe('2');
    await writeFile(inWorkspace(second, id), 'from the second');
    await stack.untilStatus(id, 'idle');
    await second.agent.close();
    const again = await stack.startHost({ store, ...{ dataDir: first.dataDir, runDir: first.runDir } });
    expect(await run(id, 'starts')).toBe('3');
    expect(await readFile(inWorkspace(first, id), 'utf8')).toBe('from the second');
    expect(await codes(id)).toEqual([]);
    await again.agent.close();
    // The list that counts and what it names, nothing else.
    expect((await readdir(join(folder, 'sessions', id))).filter((name) => name.startsWith('m.'))).toHaveLength(1);
  });

  it('store the files of a completed run although the session is awake: a kill after it loses nothing', async () => {
    const folders = await stack.newHost();
    const child = await spawnHost(stack, stack.options(folders, { idleMs: 600_000 }), { storeAddress: address });
    const { id } = await stack.createSession('starts');
    await stack.untilEvent(id, 'run_completed');
    await stack.until('the files to be stored', () => readdir(join(folder, 'sessions', id)).catch(() => undefined));
    await sleep(500);
    await killHost(child);
    const second = await stack.startHost({ store: await openStore({ address }, stack.log) });
    expect(await run(id, 'starts')).toBe('2');
    expect(await codes(id)).toEqual([]);
    await second.agent.close();
  });

  it('help the host itself when its disk is new: what was stored is as new as what is gone, or that is said', async () => {
    const host = await stack.startHost({ store: await openStore({ address }, stack.log), idleMs: 400 });
    const { id } = await stack.createSession('starts');
    await stack.untilStatus(id, 'idle');
    await rm(join(host.dataDir, 'sessions', id), { recursive: true });
    expect(await run(id, 'starts')).toBe('2');
    await stack.untilStatus(id, 'idle');
    expect(await codes(id)).toEqual([]);
    await host.agent.close();
  });

  it('begin a run again on the last stored files when its host was killed in it', async () => {
    const folders = await stack.newHost();
    const child = await spawnHost(stack, stack.options(folders, { idleMs: 300 }), { storeAddress: address });
    const { id } = await stack.createSession('starts');
    await stack.untilStatus(id, 'idle');
    await stack.prompt(id, 'hang');
    await stack.untilEvent(id, 'run_started', 2);
    await killHost(child);
    const second = await stack.startHost({ store: await openStore({ address }, stack.log) });
    await stack.untilEvent(id, 'run_started', 3);
    expect(await codes(id)).toEqual(['context_lost']);
    await stack.coordinator.interrupt(id, { id: 'local', name: 'you' });
    expect(await run(id, 'starts')).toBe('2');
    const kinds = types(await stack.events(id));
    expect(kinds.filter((kind) => kind === 'run_started')).toHaveLength(4);
    expect(kinds.filter((kind) => kind === 'run_interrupted')).toHaveLength(2);
    await second.agent.close();
  });

  it('remove what the store has of a deleted session, whichever host it ran on', async () => {
    const store = await openStore({ address }, stack.log);
    const first = await stack.startHost({ store });
    const { id } = await stack.createSession('hello');
    await stack.untilStatus(id, 'idle');
    await first.agent.close();
    expect(await readdir(join(folder, 'sessions'))).toContain(id);
    const second = await stack.startHost({ store });
    await stack.coordinator.deleteSession(id);
    await stack.until('objects gone', async () => !(await readdir(join(folder, 'sessions'))).includes(id));
    await stack.until('confirmed', async () => (await stack.coordinator.deletedInStore(store.id)).length === 0);
    await second.agent.close();
  });
});

describe('a store that fails', () => {
  it('keeps the session awake, says why once, lets it work, and lets it sleep when it is mended', async () => {
    const store = await brittleStore();
    store.broken = true;
    const host = await stack.startHost({ store, idleMs: 200 });
    const { id } = await stack.createSession('hello');
    await stack.untilEvent(id, 'session_error');
    expect((await stack.coordinator.getSession(id))?.status).toBe('evicting');
    await sleep(1_200);
    expect(await run(id, 'starts')).toBe('2');
    await stack.untilStatus(id, 'evicting');
    expect((await codes(id)).every((code) => code === 'store_failed')).toBe(true);
    expect(await stack.untilEvent(id, 'session_error')).toMatchObject({
      message: expect.stringMatching(/Free some space.*safe on its host/),
    });
    store.broken = false;
    await stack.untilStatus(id, 'idle');
    await host.agent.close();
  });

  it('until its host goes leaves the session with that host, which goes on with it', async () => {
    const store = await brittleStore();
    const host = await stack.startHost({ store, idleMs: 600_000 });
    const { id } = await stack.createSession('starts');
    await stack.untilEvent(id, 'run_completed');
    store.broken = true;
    await host.agent.close();
    expect((await stack.coordinator.getSession(id))?.status).toBe('host_lost');
    const other = await stack.startHost({ store: await openStore({ address }, stack.log) });
    await stack.prompt(id, 'starts');
    await sleep(4_000);
    expect((await stack.coordinator.getSession(id))?.status).toBe('host_lost');
    store.broken = false;
    const back = await stack.startHost({ store, ...{ dataDir: host.dataDir, runDir: host.runDir } });
    await stack.untilEvent(id, 'run_completed', 2);
    expect(said(await stack.events(id)).at(-1)).toBe('2');
    expect(await codes(id)).toEqual(['store_failed']);
    await Promise.all([other.agent.close(), back.agent.close()]);
  });

  it('to give the files back fails the session with the reason; it goes on when the store is mended', async () => {
    const store = await openStore({ address }, stack.log);
    const first = await stack.startHost({ store });
    const { id } = await stack.createSession('starts');
    await stack.untilStatus(id, 'idle');
    await first.agent.close();
    const objects = join(folder, 'sessions', id);
    const names = await readdir(objects);
    const kept = await Promise.all(names.map(async (name) => [name, await readFile(join(objects, name))] as const));
    await rm(objects, { recursive: true });
    const second = await stack.startHost({ store });
    await stack.prompt(id, 'starts');
    await stack.untilStatus(id, 'failed');
    expect(await codes(id)).toEqual(['store_incomplete']);
    await mkdir(objects);
    for (const [name, bytes] of kept) await writeFile(join(objects, name), bytes);
    await stack.coordinator.wake(id);
    await stack.untilEvent(id, 'run_completed', 2);
    expect(said(await stack.events(id)).at(-1)).toBe('2');
    await second.agent.close();
  });
});
