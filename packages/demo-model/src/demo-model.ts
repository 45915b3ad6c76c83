// A scripted stand-in for the Messages API on loopback: drives a real coding-agent CLI offline,
// with exact control over what the model says and when. For the labelled demo and for all tests.
// Owns the server, the request log and the clock; what is replied is decided in choose-reply.ts.

import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { chooseReply } from './choose-reply.js';
import { createGates } from './gates.js';
import { findWorkspace, parseMessagesRequest } from './messages-request.js';
import type { Scenario } from './reply-script.js';
import { stopReasonOf, streamReply } from './reply-stream.js';
import { type LogEntry, toLogEntry } from './request-log.js';
import { BUILTIN_SCENARIOS } from './scenarios.js';

/** The model name that selects the demo in a session. */
export const DEMO_MODEL_NAME = 'engram-demo';

export interface DemoModelOptions {
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Added to, and winning over, the built-in ones. */
  readonly scenarios?: Readonly<Record<string, Scenario>>;
  /** Where scripted files lie when a request does not name its working directory. */
  readonly workspacePath?: string;
  /** Prompts without a marker run the demo story. */
  readonly story?: boolean;
  /** The log keeps the newest this many entries. Default 5000. */
  readonly keepRequests?: number;
}

export interface DemoModel {
  /** For ANTHROPIC_BASE_URL. */
  readonly url: string;
  readonly port: number;
  /** Oldest first. An entry appears when its request body is complete; its `outcome` follows. */
  readonly requests: readonly LogEntry[];
  define(name: string, scenario: Scenario): void;
  /** The first entry, past or future, that satisfies the predicate; looked at again when an outcome is known. */
  waitForRequest(predicate: (entry: LogEntry) => boolean, timeoutMs?: number): Promise<LogEntry>;
  /** Close a gate again that was opened; gates start closed. */
  hold(gate: string): void;
  open(gate: string): void;
  /** Resolves when a reply stands at the gate. */
  waitForGate(gate: string, timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

interface Waiter {
  readonly predicate: (entry: LogEntry) => boolean;
  readonly found: (entry: LogEntry) => void;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}

export async function createDemoModel(options: DemoModelOptions = {}): Promise<DemoModel> {
  const host = options.host ?? '127.0.0.1';
  const keep = options.keepRequests ?? 5000;
  const scenarios = new Map(Object.entries({ ...BUILTIN_SCENARIOS, ...options.scenarios }));
  const chooser = { scenarios, story: options.story ?? false, workspacePath: options.workspacePath ?? '/workspace' };
  const gates = createGates();
  const closing = new AbortController();
  const requests: LogEntry[] = [];
  const waiters = new Set<Waiter>();
  // ids stay unique over restarts: a resumed conversation still holds the old ones
  const life = randomBytes(5).toString('hex');
  let received = 0;
  let messageIds = 0;
  let toolUseIds = 0;
  const deps = {
    gates,
    nextMessageId: () => `msg_demo${life}${String(++messageIds).padStart(5, '0')}`,
    nextToolUseId: (prefix = 'toolu_demo_') => `${prefix}${life}${String(++toolUseIds).padStart(5, '0')}`,
  };

  const look = (entry: LogEntry): void => {
    for (const waiter of [...waiters]) if (waiter.predicate(entry)) waiter.found(entry);
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const raw = await readBody(request);
    const url = request.url ?? '/';
    const parsed = parseMessagesRequest(raw);
    const path = url.split('?')[0];
    const isMessages = request.method === 'POST' && path === '/v1/messages';
    const n = ++received;
    const chosen = isMessages ? chooseReply(parsed, n, chooser) : undefined;
    const entry = toLogEntry(parsed, {
      n,
      at: Date.now(),
      method: request.method ?? '',
      url,
      workspace: findWorkspace(parsed),
      scenario: chosen?.scenario ?? null,
      step: chosen?.step ?? 0,
    });
    requests.push(entry);
    if (requests.length > keep) requests.shift();
    const done = (outcome: string): void => {
      entry.outcome = outcome;
      entry.took_ms = Date.now() - entry.at;
      look(entry);
    };
    look(entry);
    if (chosen === undefined) {
      if (path === '/v1/messages/count_tokens') {
        sendJson(response, 200, { input_tokens: 10 });
        return done('count');
      }
      if (request.method === 'HEAD') {
        response.writeHead(200).end();
        return done('head');
      }
      sendJson(response, 404, { type: 'error', error: { type: 'not_found_error', message: 'not served here' } });
      return done('not found');
    }
    const { reply } = chosen;
    if (reply.error !== undefined) {
      const { status, type, message, headers } = reply.error;
      sendJson(response, status, { type: 'error', error: { type, message } }, headers);
      return done(`error ${status}`);
    }
    if (!parsed.stream) {
      const content = (reply.blocks ?? []).map((block) => {
        switch (block.type) {
          case 'text':
            return { type: 'text', text: block.text };
          case 'thinking':
            return { type: 'thinking', thinking: block.thinking, signature: 'c2ln' };
          case 'tool_use':
            return {
              type: 'tool_use',
              id: block.id ?? deps.nextToolUseId(block.idPrefix),
              name: block.name,
              input: block.input,
            };
          default:
            return block satisfies never;
        }
      });
      sendJson(response, 200, {
        id: deps.nextMessageId(),
        type: 'message',
        role: 'assistant',
        model: parsed.model,
        content,
        stop_reason: stopReasonOf(reply),
        stop_sequence: null,
        usage: { input_tokens: 10, output_tokens: 5, ...reply.usage },
      });
      return done(stopReasonOf(reply));
    }
    done(await streamReply(response, parsed.model, reply, deps, closing.signal));
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy()); // the client went away in mid-body
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    requests,
    define: (name, scenario) => {
      scenarios.set(name, scenario);
    },
    waitForRequest(predicate, timeoutMs = 15_000) {
      const past = requests.find((entry) => predicate(entry));
      if (past !== undefined) return Promise.resolve(past);
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          predicate,
          found: (entry) => {
            clearTimeout(timer);
            waiters.delete(waiter);
            resolve(entry);
          },
        };
        const timer = setTimeout(() => {
          waiters.delete(waiter);
          const seen = requests.slice(-5).map((entry) => `${entry.n}:${entry.scenario}/${entry.step} ${entry.outcome}`);
          reject(new Error(`no such request within ${timeoutMs} ms; the last were: ${seen.join(', ') || 'none'}`));
        }, timeoutMs);
        waiters.add(waiter);
      });
    },
    hold: (gate) => gates.hold(gate),
    open: (gate) => gates.open(gate),
    waitForGate: (gate, timeoutMs = 15_000) => gates.reached(gate, timeoutMs),
    close: () =>
      new Promise((resolve) => {
        closing.abort();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
