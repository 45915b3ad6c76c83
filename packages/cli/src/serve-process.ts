// The server: coordinator and orchestrator in one process, until it is told to stop.

import { createHash } from 'node:crypto';
import { createCoordinator } from '@engram/coordinator';
import { createOrchestrator } from '@engram/orchestrator';
import type { Logger } from 'pino';
import type { ServeOrder } from './child-line.js';
import { readVersion, webRoot } from './installation.js';
import { portError } from './port-check.js';
import { openTracing } from './tracing.js';

/** The owner of everything on a machine of one's own. */
export const LOCAL_OWNER = { id: 'local', name: 'you' } as const;

export interface ServeProcess {
  readonly port: number;
  readonly url: string;
  close(): Promise<void>;
}

export async function startServe(order: ServeOrder, log: Logger): Promise<ServeProcess> {
  const lastSpans = await openTracing(order.tracing, 'engram-serve', log);
  const coordinator = await createCoordinator({ connection: order.database, log });
  try {
    await coordinator.putToken(createHash('sha256').update(order.token).digest(), LOCAL_OWNER);
    const door = await createOrchestrator({
      desk: coordinator,
      log,
      webRoot,
      host: order.host,
      port: order.port,
      workspaceRoots: order.workspaceRoots,
      dataDir: order.dataDir,
      statusInfo: {
        version: readVersion(),
        ...(order.defaultWorkspace === undefined ? {} : { default_workspace: order.defaultWorkspace }),
      },
      holdMs: order.holdMs,
      ...(order.metricsToken === undefined ? {} : { metricsToken: order.metricsToken }),
      ...(order.publicUrl === undefined ? {} : { publicUrl: order.publicUrl }),
    }).catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      throw /^E[A-Z]+$/.test(code) ? portError(order.host, order.port, code) : error;
    });
    return {
      port: door.port,
      url: door.url,
      async close() {
        await door.close();
        await coordinator.close();
        await lastSpans();
      },
    };
  } catch (error) {
    await coordinator.close();
    throw error;
  }
}
