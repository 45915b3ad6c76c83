// The host: coordinator, demo model and host-agent in one process, until it is told to stop.

import { hostname } from 'node:os';
import { createCoordinator } from '@engram/coordinator';
import { createDemoModel } from '@engram/demo-model';
import { type ClaudeBinary, type HostAgent, openStore, startHostAgent } from '@engram/host-agent';
import type { Logger } from 'pino';
import type { HostOrder } from './child-line.js';
import { chooseClaude } from './claude-program.js';
import { explainError } from './cli-error.js';
import { harnessMain, readVersion } from './installation.js';
import { openTracing } from './tracing.js';

export interface HostProcess {
  readonly agent: HostAgent;
  /** `drain` first lets open runs end; asked again without it ends them. */
  close(options?: { readonly drain?: boolean }): Promise<void>;
}

export async function startHost(order: HostOrder, log: Logger, note: (text: string) => void): Promise<HostProcess> {
  const resolveClaude = createClaudeResolver(order, log, note);
  // First: settings that cannot work are told before anything is waited for.
  const store = order.store === undefined ? undefined : await openStore(order.store, log);
  const lastSpans = await openTracing(order.tracing, 'engram-host', log);
  const coordinator = await createCoordinator({ connection: order.database, log });
  const demo = await createDemoModel({ story: true });
  let closing: Promise<void> | undefined;
  try {
    const agent = await startHostAgent({
      coordinator,
      dataDir: order.dataDir,
      runDir: order.runDir,
      log,
      name: hostname(),
      version: readVersion(),
      slots: order.slots,
      idleMs: order.idleMs,
      backgroundMs: order.backgroundMs,
      holdMs: order.holdMs,
      harnessCommand: [process.execPath, harnessMain, 'run'],
      resolveClaude,
      ...(order.tracing === undefined ? {} : { harnessEnvironment: order.tracing.env }),
      agentEnvironment: order.agentEnvironment,
      credentials: order.credentials,
      demoModelUrl: demo.url,
      workspaceRoots: order.workspaceRoots,
      gitEnvironment: order.ownEnvironment,
      ...(store === undefined ? {} : { store }),
    });
    return {
      agent,
      close(options) {
        const asleep = agent.close(options);
        closing ??= asleep.then(async () => {
          await demo.close();
          await coordinator.close();
          await lastSpans();
        });
        return closing;
      },
    };
  } catch (error) {
    await demo.close();
    await coordinator.close();
    throw error;
  }
}

/**
 * One search or fetch at a time, shared by all who wait for it; a success is kept, a failure is told
 * once and tried again by the next session that starts.
 */
function createClaudeResolver(
  order: HostOrder,
  log: Logger,
  note: (text: string) => void,
): () => Promise<ClaudeBinary> {
  let current: Promise<ClaudeBinary> | undefined;
  async function resolve(): Promise<ClaudeBinary> {
    try {
      const claude = await chooseClaude(order, note);
      log.info({ version: claude.version, source: claude.source }, 'agent program found');
      return { ok: true, path: claude.bin, version: claude.version };
    } catch (error) {
      current = undefined;
      const message = explainError(error);
      note(message);
      log.error({ err: error }, 'the agent program is not available');
      return { ok: false, code: 'claude_unavailable', message };
    }
  }
  return () => {
    current ??= resolve();
    return current;
  };
}
