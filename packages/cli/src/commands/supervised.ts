// `engram serve --supervised` and `engram host --supervised`: the children of `engram up`. They stop
// when their stdin ends, which is both the order to stop and the sign that the parent is gone.

import type { Logger } from 'pino';
import { explainError } from '../cli-error.js';
import type { LogLevel } from '../config.js';
import { createStderrLog } from '../file-log.js';
import { openParentLink, parseOrder, report } from '../parent-link.js';

interface Closable {
  close(): Promise<void>;
}

export async function supervisedServe(): Promise<number> {
  const { order: line, gone } = await openParentLink();
  const order = parseOrder(line, 'serve');
  const { startServe } = await import('../serve-process.js');
  return runChild('serve', order.logLevel, gone, async (log) => {
    const serve = await startServe(order, log);
    report({ type: 'ready', port: serve.port });
    return serve;
  });
}

export async function supervisedHost(): Promise<number> {
  const { order: line, gone } = await openParentLink();
  const order = parseOrder(line, 'host');
  const { startHost } = await import('../host-process.js');
  return runChild('host', order.logLevel, gone, async (log) => {
    const host = await startHost(order, log, (text) => report({ type: 'note', text }));
    const { isolation, statement } = host.agent.sandbox;
    report({ type: 'ready', isolation: `${isolation} — ${statement}` });
    return host;
  });
}

async function runChild(
  name: string,
  level: LogLevel,
  gone: Promise<void>,
  start: (log: Logger) => Promise<Closable>,
): Promise<number> {
  const log = createStderrLog(name, level);
  try {
    const started = await start(log);
    await gone;
    await started.close();
    return 0;
  } catch (error) {
    log.error({ err: error }, 'could not go on');
    report({ type: 'failed', text: explainError(error) });
    return 1;
  }
}
