// `engram up` after its checks: PostgreSQL, then `serve` and `host`; ready when both say so; and one
// way to end. Whatever dies first, by itself or by signal, everything else is ended too, and only an
// asked-for end is exit code 0.
//
//   starting ─► running ─► ending (asked | something died) ─► all gone

import { type EmbeddedPostgres, type PostgresConnection, startEmbeddedPostgres } from '@engram/coordinator';
import type { Logger } from 'pino';
import type { HostOrder, ServeOrder } from './child-line.js';
import { CliError } from './cli-error.js';
import { type ChildExit, type SupervisedChild, startChild } from './supervised-child.js';

export interface SupervisorPlan {
  readonly main: string;
  readonly dataDir: string;
  readonly runDir: string;
  readonly databaseUrl?: string;
  readonly serve: Omit<ServeOrder, 'database'>;
  readonly host: Omit<HostOrder, 'database'>;
  readonly env: Readonly<Record<string, string>>;
  readonly log: Logger;
  readonly onNote: (text: string) => void;
  /** After a child died without cleaning up: ends what it had started. */
  readonly endOrphans: () => Promise<void>;
}

export interface Running {
  readonly port: number;
  readonly isolation: string;
  /** Of the embedded server, when there is one. */
  readonly database?: PostgresConnection;
  readonly pids: { readonly serve: number; readonly host: number; readonly postgres?: number };
  /** Why something ended that should not have; never resolves while all is well. */
  readonly broken: Promise<string>;
  /** Ends everything; resolves when nothing is left. */
  stop(): Promise<void>;
}

/** Together with PostgreSQL's own stop this stays below 15 s. */
const CHILD_GRACE_MS = 9_000;

export async function startAll(plan: SupervisorPlan, stopAsked: Promise<unknown>): Promise<Running> {
  const children: SupervisedChild[] = [];
  let postgres: EmbeddedPostgres | undefined;
  let stopping: Promise<void> | undefined;

  const stop = (): Promise<void> => {
    stopping ??= (async () => {
      await Promise.all(children.map((child) => child.stop(CHILD_GRACE_MS)));
      await plan.endOrphans();
      await postgres?.stop();
    })();
    return stopping;
  };

  try {
    if (plan.databaseUrl === undefined) {
      postgres = await startEmbeddedPostgres({ dataDir: plan.dataDir, runDir: plan.runDir, log: plan.log });
    }
    const database = plan.databaseUrl ?? postgres?.connectionConfig;
    if (database === undefined) throw new CliError('start_failed', 'There is no database to use.');
    const common = { main: plan.main, env: plan.env, onNote: plan.onNote };
    const serve = startChild({ ...common, order: { ...plan.serve, database } });
    children.push(serve);
    const host = startChild({ ...common, order: { ...plan.host, database } });
    children.push(host);

    const broken = Promise.race([
      serve.exited.then(explainExit),
      host.exited.then(explainExit),
      ...(postgres === undefined
        ? []
        : [postgres.exited.then(() => 'PostgreSQL ended; its log is logs/postgres.log in the data folder.')]),
    ]);
    const started = await Promise.race([
      Promise.all([serve.ready, host.ready]),
      broken.then((why) => ({ why })),
      stopAsked.then(() => ({ why: 'stopped while starting' })),
    ]);
    if ('why' in started) throw new CliError('start_failed', started.why);
    const [served, hosted] = started;
    return {
      port: served.port ?? plan.serve.port,
      isolation: hosted.isolation ?? 'isolation unknown',
      ...(postgres === undefined ? {} : { database: postgres.connectionConfig }),
      pids: { serve: serve.pid, host: host.pid, ...(postgres === undefined ? {} : { postgres: postgres.pid }) },
      broken,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function explainExit({ name, code, signal, words }: ChildExit): string {
  const how = signal === undefined ? `ended with exit code ${code ?? 'unknown'}` : `was ended by ${signal}`;
  const log = `its log is logs/${name}.log in the data folder`;
  return words === '' ? `\`engram ${name}\` ${how}; ${log}.` : `\`engram ${name}\` ${how}; ${log}.\n${words}`;
}
