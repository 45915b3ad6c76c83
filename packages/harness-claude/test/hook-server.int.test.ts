// Real sockets and the real hook-bridge process.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { HarnessError } from '../src/harness-error.js';
import { bindHookPort, type HookRequest, type HookServer, openHookServer } from '../src/hook-server.js';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const TOKEN = 't0ken';
const body = JSON.stringify({
  tool_name: 'AskUserQuestion',
  tool_use_id: 'q1',
  tool_input: { text: 'a\\nb "c" ü\u2028' },
});

const folder = mkdtempSync(join(tmpdir(), 'engram hook '));
let server: HookServer | undefined;
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function open(onFire: (request: HookRequest) => void, onLost: (id: string) => void = () => undefined) {
  server = await openHookServer({
    token: () => TOKEN,
    socketPath: join(folder, "k'$x.sock"),
    onFire,
    onLost,
    keepAliveMs: 30,
  });
  return server;
}

const post = (port: number, token: string) =>
  fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST', body, headers: { authorization: `Bearer ${token}` } });

function bridge(token: string): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [MAIN, 'hook-bridge', join(folder, "k'$x.sock")], {
    env: { ENGRAM_HOOK_TOKEN: token },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  child.stdin.end(body);
  return new Promise((resolve) => child.on('exit', (code) => resolve({ code, out, err })));
}

describe('the hook server', () => {
  it('takes over a port that was bound ahead and refused everybody', async () => {
    const bound = await bindHookPort();
    expect((await post(bound.port, TOKEN)).status).toBe(401);
    server = await openHookServer({
      bound,
      token: () => TOKEN,
      onFire: ({ fireId }) => server?.reply(fireId, { permissionDecision: 'defer' }),
      onLost: () => undefined,
    });
    expect(server.port).toBe(bound.port);
    expect((await post(bound.port, 'another')).status).toBe(401);
    expect((await post(bound.port, TOKEN)).status).toBe(200);
  });

  it('holds a request, keeps it alive, and replies with one JSON object', async () => {
    const fired: HookRequest[] = [];
    const { port } = await open((request) => {
      fired.push(request);
      setTimeout(() => server?.reply(request.fireId, { permissionDecision: 'defer' }), 150);
    });
    const text = await (await post(port, TOKEN)).text();
    expect(text.startsWith(' ')).toBe(true);
    expect(JSON.parse(text)).toEqual({
      hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'defer' },
    });
    expect(fired).toMatchObject([
      { toolCallId: 'q1', toolName: 'AskUserQuestion', input: { text: 'a\\nb "c" ü\u2028' } },
    ]);
  });

  it('refuses who has not the secret, and what is no hook', async () => {
    const { port } = await open(() => expect.unreachable());
    expect((await post(port, 'other')).status).toBe(401);
    const odd = await fetch(`http://127.0.0.1:${port}/hook`, {
      method: 'POST',
      body: 'x',
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    expect(odd.status).toBe(400);
  });

  it('says when a caller went away before its reply', async () => {
    const lost: string[] = [];
    const gone = new AbortController();
    const { port } = await open(
      () => gone.abort(),
      (id) => lost.push(id),
    );
    const headers = { authorization: `Bearer ${TOKEN}` };
    await fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST', body, headers, signal: gone.signal }).catch(
      () => undefined,
    );
    await expect.poll(() => lost.length).toBe(1);
  });

  it('serves the bridge, whatever is in the socket path, and the bridge prints exactly the reply', async () => {
    await open((request) =>
      server?.reply(request.fireId, { permissionDecision: 'deny', permissionDecisionReason: 'a "b"\nc' }),
    );
    const { code, out } = await bridge(TOKEN);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ hookSpecificOutput: { permissionDecisionReason: 'a "b"\nc' } });
  });

  it('makes the bridge fail with 1, never 2, when it is refused or nobody is there', async () => {
    await open(() => expect.unreachable());
    expect((await bridge('other')).code).toBe(1);
    await server?.close();
    server = undefined;
    const { code, out, err } = await bridge(TOKEN);
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('engram hook');
  });

  it('names path and limit when a socket path is too long', async () => {
    const socketPath = join(folder, 'x'.repeat(120));
    const opening = openHookServer({
      token: () => TOKEN,
      socketPath,
      onFire: () => undefined,
      onLost: () => undefined,
    });
    await expect(opening).rejects.toThrow(HarnessError);
    await expect(opening).rejects.toThrow('107');
  });
});
