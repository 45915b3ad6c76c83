// Our hook among others: switched off, overruled, failing, or spoken to through the bridge.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { timesTold } from '@engram/demo-model';
import { describe, expect, it } from 'vitest';
import { useSessions } from './session-fixture.js';
import { type TestHost, VERSIONS_TO_TEST } from './test-host.js';

const sessions = useSessions();

function writeProjectSettings(host: TestHost, settings: unknown): void {
  mkdirSync(join(host.workspace, '.claude'), { recursive: true });
  writeFileSync(join(host.workspace, '.claude/settings.json'), JSON.stringify(settings));
}

const projectHook = (matcher: string, command: string) => ({
  hooks: { PreToolUse: [{ matcher, hooks: [{ type: 'command', command }] }] },
});

describe.each(VERSIONS_TO_TEST)('claude %s', (version) => {
  /** What the harness does whatever the version: shown once. */
  const onNewest = it.runIf(version === '2.1.332');

  const lastRequest = (host: TestHost) => {
    const entry = sessions.requestsOf(host).at(-1);
    if (!entry) throw new Error('the model was never asked');
    return entry;
  };

  it('asks and answers through the bridge, whatever is in the names of program, socket and workspace (HOOK-01)', async () => {
    const host = await sessions.open(version, { oddPaths: true, harnessEnv: { ENGRAM_HOOK_WAY: 'command' } });
    host.prompt('[[ASK1]] please');
    const { tool_call_id: id } = await host.event('user_question');
    await host.idle();
    host.answer(id, { 'Which database?': ['SQLite'] });
    await host.event('run_completed', 2);
    expect(timesTold(lastRequest(host), '"SQLite"')).toBe(1);
    expect(sessions.requestsOf(host)).toHaveLength(2);
  });

  it('keeps its hook when the workspace switches all hooks off, at the start and while a question waits (HOOK-08)', async () => {
    const host = await sessions.open(version);
    writeProjectSettings(host, { disableAllHooks: true });
    host.prompt('[[ASK1]] please');
    const { tool_call_id: id } = await host.event('user_question');
    await host.idle();
    mkdirSync(join(host.home, '.claude'), { recursive: true });
    writeFileSync(join(host.home, '.claude/settings.json'), JSON.stringify({ disableAllHooks: true }));
    host.answer(id, { 'Which database?': ['SQLite'] });
    await host.event('run_completed', 2);
    expect(timesTold(lastRequest(host), '"SQLite"')).toBe(1);
    expect(sessions.requestsOf(host)).toHaveLength(2);
    expect(host.all('notice').map((event) => event.code)).toEqual(['permission_policy']);
  });

  onNewest('stops a run when a hook that cannot start refuses every call, and says which (HOOK-05)', async () => {
    const host = await sessions.open(version);
    writeProjectSettings(host, projectHook('', 'echo no such script >&2; exit 2'));
    host.prompt('[[BASHN:12]] go');
    await host.event('run_interrupted');
    await host.idle();
    expect(host.all('tool_call_completed').length).toBeLessThan(8);
    const notice = host.all('notice').find((event) => event.code === 'hook_unhealthy');
    expect(notice?.message).toContain('no such script');
  });

  it('shows no card when a hook of the project denies the question, and says so (HOOK-07)', async () => {
    const host = await sessions.open(version);
    writeProjectSettings(host, projectHook('AskUserQuestion', 'echo not here >&2; exit 2'));
    host.prompt('[[ASK1]] please');
    await host.event('run_completed');
    await host.idle();
    expect(host.all('user_question')).toEqual([]);
    expect(timesTold(lastRequest(host), 'not here')).toBeGreaterThan(0);
    expect(sessions.requestsOf(host)).toHaveLength(2);
    expect(host.all('notice').map((event) => event.code)).toEqual(['permission_policy', 'question_withdrawn']);
  });

  it('asks and answers beside hooks of the project that crash, print noise or are slow (HOOK-04)', async () => {
    const host = await sessions.open(version);
    const commands = ['exit 1', 'echo welcome to this shell; echo "{}{}"', 'sleep 1', 'kill -9 $$'];
    const hooks = commands.map((command) => ({ type: 'command', command }));
    writeProjectSettings(host, { hooks: { PreToolUse: [{ matcher: 'AskUserQuestion', hooks }] } });
    host.prompt('[[ASK1]] please');
    const { tool_call_id: id } = await host.event('user_question');
    await host.idle();
    host.answer(id, { 'Which database?': ['SQLite'] });
    await host.event('run_completed', 2);
    expect(timesTold(lastRequest(host), '"SQLite"')).toBe(1);
    expect(sessions.requestsOf(host)).toHaveLength(2);
  });

  it('ends the run with a notice when a hook of the project defers an ordinary tool (AUQ-04)', async () => {
    const host = await sessions.open(version);
    host.write('a.txt', 'one\ntwo\n');
    const reply = '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer"}}';
    writeProjectSettings(host, projectHook('Edit', `echo '${reply}'`));
    host.prompt('[[EDIT]] go');
    expect((await host.event('run_completed')).ok).toBe(false);
    expect(host.all('notice').map((event) => event.code)).toContain('foreign_deferral');
    await host.idle();
    expect(host.all('user_question')).toEqual([]);
    expect(host.agentPids()).toEqual([]);
  });

  onNewest('reaches its hook although the agent works through a proxy', async () => {
    const proxy = 'http://127.0.0.1:9';
    const host = await sessions.open(version, { agentEnv: { HTTP_PROXY: proxy, http_proxy: proxy } });
    host.prompt('[[ASK1]] please');
    await host.event('user_question');
    expect(host.all('notice').map((event) => event.code)).toEqual(['permission_policy']);
  });

  it('holds a question that comes past a failing hook open, and takes the answer in the same run (HOOK-02)', async () => {
    const host = await sessions.open(version, {
      harnessEnv: { ENGRAM_HOOK_WAY: 'command' },
      agentEnv: { NODE_OPTIONS: '--require=/no/such/file' },
    });
    host.prompt('[[ASK1]] go');
    const { tool_call_id: id, run_id } = await host.event('user_question');
    host.answer(id, { 'Which database?': ['SQLite'] });
    const answered = await host.event('question_answered');
    expect(answered.run_id).toBe(run_id);
    expect((await host.event('run_completed')).ok).toBe(true);
    expect(timesTold(lastRequest(host), '"SQLite"')).toBe(1);
    expect(host.all('run_started')).toHaveLength(1);
  });

  it('tells when questions come past a hook that fails, and stops the run at the second', async () => {
    const host = await sessions.open(version, {
      holdMs: 1500,
      harnessEnv: { ENGRAM_HOOK_WAY: 'command' },
      // The bridge is a node program and dies of this; the agent is not.
      agentEnv: { NODE_OPTIONS: '--require=/no/such/file' },
    });
    host.prompt('[[ASKN:5]] go');
    await host.event('run_interrupted');
    const codes = host.all('notice').map((event) => event.code);
    expect(codes).toEqual(['permission_policy', 'hook_unhealthy', 'hook_unhealthy']);
    expect(host.all('user_question')).toHaveLength(1);
    expect(host.all('question_dismissed')).toMatchObject([{ reason: 'withdrawn' }]);
  });
});

it('says that the agent has no question tool (AUQ-05)', async () => {
  const host = await sessions.open('2.1.332', { bent: { without: ['--permission-prompt-tool', 'stdio'] } });
  host.prompt('[[HI]] hello');
  await host.event('run_completed');
  expect(host.all('notice').map((event) => event.code)).toContain('question_tool_missing');
});
