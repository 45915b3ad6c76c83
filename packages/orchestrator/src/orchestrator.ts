// The public door as one thing with a life: made from a desk, listening until closed. It wires; it
// decides nothing.

import type { SessionDesk } from '@engram/coordinator';
import fastify from 'fastify';
import type { Logger } from 'pino';
import { allRoutes } from './all-routes.js';
import { createBrowserLogin } from './browser-login.js';
import type { Door, StatusInfo } from './door.js';
import {
  acceptOnlyJson,
  answerBrokenHttp,
  BODY_LIMIT,
  createAllowLookup,
  createErrorHandler,
  guardEveryRequest,
  pathOf,
  sendProblem,
  toNotRouted,
  toRequestId,
} from './http-edge.js';
import { exchangeLoginLinks } from './login-link-hook.js';
import { createMetrics } from './metrics.js';
import { mountRoute } from './mount-routes.js';
import { createRateLimiter, type RateLimit } from './rate-limit.js';
import { isLoopbackName } from './request-origin.js';
import { createStreamHub } from './stream-hub.js';
import { serveWebApp } from './web-app.js';
import { createWorkspaceRules } from './workspace-rules.js';

export interface OrchestratorOptions {
  readonly desk: SessionDesk;
  readonly log: Logger;
  /** The built web app; may be missing, a page then says so. */
  readonly webRoot: string;
  readonly host?: string;
  /** 0: any free one. */
  readonly port: number;
  /** How browsers reach this server when that is not its own address, e.g. behind a proxy. */
  readonly publicUrl?: string;
  /** Local folders below which sessions may work; none: no local folders. */
  readonly workspaceRoots: readonly string[];
  readonly dataDir?: string;
  readonly statusInfo: StatusInfo;
  readonly metricsToken?: string;
  readonly holdMs: number;
  /** Calls that change state, per owner. */
  readonly writeLimit?: RateLimit;
  readonly heartbeatMs?: number;
}

export interface Orchestrator {
  /** Where a browser on this machine (or behind the proxy) finds it, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

const WRITE_LIMIT: RateLimit = { perSecond: 500, burst: 2_000 };
const FAILURE_LIMIT: RateLimit = { perSecond: 10, burst: 100 };
const CLOSE_MS = 5_000;

function localUrl(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

export async function createOrchestrator(options: OrchestratorOptions): Promise<Orchestrator> {
  const { desk, log } = options;
  const host = options.host ?? '127.0.0.1';
  let closing = false;
  const isClosing = () => closing;

  const app = fastify({
    logger: false,
    bodyLimit: BODY_LIMIT,
    requestTimeout: 60_000,
    return503OnClosing: false,
    forceCloseConnections: false,
    genReqId: (request) => toRequestId(request.headers['x-request-id']),
    // As long as a request line can be: an over-long id is an unknown one, not another route.
    routerOptions: { maxParamLength: 20_000 },
    frameworkErrors: (error, request, reply) => createErrorHandler(log)(error, request, reply),
    clientErrorHandler: answerBrokenHttp,
  });
  acceptOnlyJson(app);
  app.setErrorHandler(createErrorHandler(log));
  guardEveryRequest(app, { boundToLoopback: isLoopbackName(host), publicUrl: options.publicUrl, isClosing });

  const metrics = createMetrics(desk, log);
  const streams = createStreamHub({
    desk,
    log,
    meters: metrics.streams,
    ...(options.heartbeatMs === undefined ? {} : { heartbeatMs: options.heartbeatMs }),
  });
  metrics.watchStreams(streams.counts);
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? '(none)';
    const isStream = String(reply.raw.getHeader('content-type')).startsWith('text/event-stream');
    metrics.requestDone(route, request.method, reply.statusCode, isStream ? undefined : reply.elapsedTime / 1000);
    const facts = { requestId: request.id, route, method: request.method, status: reply.statusCode };
    log.debug({ ...facts, ms: Math.round(reply.elapsedTime) }, 'request done');
  });

  // Routes ask for the address at call time: with port 0 it is known only once the server listens.
  let url = options.publicUrl?.replace(/\/+$/, '') ?? localUrl(host, options.port);
  let login = createBrowserLogin(desk, url);
  const door: Door = {
    desk,
    log,
    streams,
    metrics,
    isClosing,
    get login() {
      return login;
    },
    workspaces: createWorkspaceRules(options.workspaceRoots, options.dataDir),
    statusInfo: options.statusInfo,
    holdMs: options.holdMs,
  };
  exchangeLoginLinks(app, door, options.publicUrl);
  const deps = {
    door,
    publicUrl: options.publicUrl,
    metricsToken: options.metricsToken,
    writes: createRateLimiter(options.writeLimit ?? WRITE_LIMIT),
    failures: createRateLimiter(FAILURE_LIMIT),
  };
  for (const route of allRoutes) mountRoute(app, route, deps);

  const webApp = await serveWebApp(app, options.webRoot);
  const allowFor = createAllowLookup(allRoutes);
  app.setNotFoundHandler((request, reply) => {
    const path = pathOf(request.url);
    const allow = allowFor(path);
    if (allow === undefined && webApp.fallback(request, reply, path)) return;
    sendProblem(reply, toNotRouted(allow));
  });

  try {
    await app.listen({ host, port: options.port });
  } catch (error) {
    await app.close();
    throw error;
  }
  const address = app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  if (options.publicUrl === undefined) {
    url = localUrl(host, port);
    login = createBrowserLogin(desk, url);
  }
  log.info({ url, host, port }, 'listening');

  return {
    url,
    port,
    async close() {
      if (closing) return;
      closing = true;
      streams.close();
      // A connection kept alive for a next request counts as open until it is told.
      const sweep = setInterval(() => app.server.closeIdleConnections(), 50);
      const force = setTimeout(() => app.server.closeAllConnections(), CLOSE_MS);
      try {
        await app.close();
      } finally {
        clearInterval(sweep);
        clearTimeout(force);
      }
    },
  };
}
