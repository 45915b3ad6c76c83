// `engram run "<prompt>"`: makes a session and follows it until the agent rests or asks.

import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { ApiClient, NewSessionBody } from '../api-client.js';
import { endsTurn } from '../api-events.js';
import type { Output } from '../output.js';
import { createEventPrinter } from '../show-event.js';

export interface RunOptions {
  /** What a relative --workspace starts from. */
  readonly cwd: string;
  readonly workspace?: string;
  readonly git?: string;
  readonly ref?: string;
  readonly empty?: boolean;
  readonly model?: string;
  readonly title?: string;
  readonly demo?: boolean;
  readonly detach?: boolean;
}

export async function run(api: ApiClient, output: Output, prompt: string, options: RunOptions): Promise<number> {
  const session = await api.createSession(toBody(prompt, options), randomUUID());
  if (options.detach === true) {
    output.result(session, [session.id]);
    return 0;
  }
  if (output.json) output.result({ type: 'session', session_id: session.id }, []);
  else output.note(`session ${session.id}`);
  const show = createEventPrinter(session.id, output);
  let failed = false;
  for await (const event of api.stream(session.id)) {
    show(event);
    if (event.type === 'session_error') failed = true;
    if (event.type === 'run_completed') failed = event.ok === false;
    if (endsTurn(event)) break;
  }
  return failed ? 1 : 0;
}

function toBody(prompt: string, options: RunOptions): NewSessionBody {
  const workspace =
    options.git !== undefined
      ? { kind: 'git' as const, url: options.git, ...(options.ref === undefined ? {} : { ref: options.ref }) }
      : options.empty === true
        ? { kind: 'empty' as const }
        : { kind: 'path' as const, path: resolve(options.cwd, options.workspace ?? '.') };
  const model = options.demo === true ? 'engram-demo' : options.model;
  return {
    prompt,
    workspace,
    ...(model === undefined ? {} : { model }),
    ...(options.title === undefined ? {} : { title: options.title }),
  };
}
