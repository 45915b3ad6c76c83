// Where the agent's hooks come in: HTTP on a loopback port for CLIs with http hooks, and the same
// on a unix socket for our hook-bridge. Bound before the agent starts. A request stays open until
// it is replied to; blanks before the JSON keep a long wait alive. Knows nothing of questions.

import { timingSafeEqual } from 'node:crypto';
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { HarnessError } from './harness-error.js';
import { asRecord, asString, parseJson } from './json-guards.js';

export interface HookRequest {
  readonly fireId: string;
  readonly toolName: string;
  readonly toolCallId: string;
  /** Set when a subagent makes the call. */
  readonly agentId: string | undefined;
  readonly input: unknown;
}

/** The CLI's PreToolUse decision; undefined leaves the decision to its own rules. */
export type HookDecision =
  | { readonly permissionDecision: 'defer' }
  | { readonly permissionDecision: 'deny'; readonly permissionDecisionReason: string }
  | { readonly permissionDecision: 'allow'; readonly updatedInput: unknown };

export interface HookServer {
  readonly port: number;
  reply(fireId: string, decision: HookDecision | undefined): boolean;
  close(): Promise<void>;
}

/** A loopback port that is bound before there is a session, and refuses everybody until one takes it. */
export interface HookPort {
  readonly server: Server;
  readonly port: number;
}

export async function bindHookPort(): Promise<HookPort> {
  const server = createServer((_request, response) => refuse(response, 401));
  return { server, port: await listenTcp(server) };
}

export interface HookServerOptions {
  /** Taken over from whoever bound it ahead; else one is bound now. */
  readonly bound?: HookPort;
  /** Who may speak: read for each request, as every agent process has its own. */
  readonly token: () => string;
  /** Also listen here, for the bridge. */
  readonly socketPath?: string;
  readonly onFire: (request: HookRequest) => void;
  readonly onLost: (fireId: string) => void;
  readonly keepAliveMs?: number;
}

const MAX_BODY_BYTES = 8 * 1024 * 1024;
const MAX_SOCKET_PATH_BYTES = 107;
const KEEP_ALIVE_MS = 20_000;

export async function openHookServer(options: HookServerOptions): Promise<HookServer> {
  const waiting = new Map<string, { readonly response: ServerResponse; readonly timer: NodeJS.Timeout }>();
  let count = 0;

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!isAuthorized(request, options.token())) return refuse(response, 401);
    const body = await readBody(request);
    const hook = body === undefined ? undefined : parseHook(body);
    if (!hook) return refuse(response, 400);
    count += 1;
    const fireId = `fire-${process.pid}-${count}`;
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(' '), options.keepAliveMs ?? KEEP_ALIVE_MS);
    waiting.set(fireId, { response, timer });
    response.on('close', () => {
      clearInterval(timer);
      if (waiting.delete(fireId)) options.onLost(fireId);
    });
    options.onFire({ ...hook, fireId });
  };

  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    handle(request, response).catch(() => response.destroy());
  };
  const { server: tcp, port } = options.bound ?? (await bindHookPort());
  tcp.removeAllListeners('request').on('request', onRequest);
  const unix = options.socketPath === undefined ? undefined : createServer(onRequest);
  const servers: Server[] = unix ? [tcp, unix] : [tcp];
  for (const server of servers) {
    // A held hook has no end of its own.
    server.requestTimeout = 0;
    server.timeout = 0;
  }
  if (unix && options.socketPath !== undefined) await listenUnix(unix, options.socketPath);

  return {
    port,
    reply(fireId, decision) {
      const held = waiting.get(fireId);
      if (!held) return false;
      waiting.delete(fireId);
      clearInterval(held.timer);
      const output = decision && { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } };
      held.response.end(JSON.stringify(output ?? {}));
      return true;
    },
    async close() {
      for (const { response, timer } of waiting.values()) {
        clearInterval(timer);
        response.destroy();
      }
      waiting.clear();
      await Promise.all(
        servers.map(
          (server) =>
            new Promise((resolve) => {
              server.closeAllConnections();
              server.close(resolve);
            }),
        ),
      );
      if (options.socketPath !== undefined) rmSync(options.socketPath, { force: true });
    },
  };
}

function listenTcp(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}

function listenUnix(server: Server, path: string): Promise<void> {
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_SOCKET_PATH_BYTES) {
    const message = `hook socket path has ${bytes} bytes, more than ${MAX_SOCKET_PATH_BYTES}: ${path}`;
    throw new HarnessError('socket_path_too_long', message);
  }
  // Left by a crash; the host gives each session a path of its own.
  rmSync(path, { force: true });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      chmodSync(path, 0o600);
      resolve();
    });
  });
}

function isAuthorized(request: IncomingMessage, token: string): boolean {
  const given = Buffer.from(request.headers.authorization ?? '');
  const wanted = Buffer.from(`Bearer ${token}`);
  return token !== '' && given.length === wanted.length && timingSafeEqual(given, wanted);
}

function refuse(response: ServerResponse, status: number) {
  response.writeHead(status).end();
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    size += bytes.length;
    if (size > MAX_BODY_BYTES) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseHook(body: string): Omit<HookRequest, 'fireId'> | undefined {
  const record = asRecord(parseJson(body));
  const toolName = asString(record?.tool_name);
  const toolCallId = asString(record?.tool_use_id);
  if (!record || toolName === undefined || toolCallId === undefined) return undefined;
  return { toolName, toolCallId, agentId: asString(record.agent_id), input: record.tool_input };
}
