// The server itself: is it up, what can it do, what does its API look like, how does a browser get in.

import type { HostRow } from '@engram/coordinator';
import { z } from 'zod';
import { LoginLink, ServerStatus } from '../api-schemas.js';
import type { Door } from '../door.js';
import { Problem } from '../problem.js';
import { type ApiRoute, callerRoute, openRoute } from '../route-table.js';

const READY_MS = 2_000;

const State = z.object({ status: z.string() });

const healthz = openRoute(
  {
    method: 'GET',
    path: '/healthz',
    operationId: 'health',
    summary: 'The process answers',
    action: 'health.read',
    replies: { 200: { description: 'It does', schema: State } },
  },
  async () => ({ status: 200, body: { status: 'ok' } }),
);

async function isReady({ desk, isClosing }: Door): Promise<boolean> {
  if (isClosing()) return false;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, READY_MS, false);
  });
  try {
    return await Promise.race([desk.isReady().catch(() => false), late]);
  } finally {
    clearTimeout(timer);
  }
}

const readyz = openRoute(
  {
    method: 'GET',
    path: '/readyz',
    operationId: 'readiness',
    summary: 'The database answers and the server takes work',
    action: 'health.read',
    replies: { 200: { description: 'It does', schema: State } },
  },
  async (_call, door) => {
    if (!(await isReady(door)))
      throw new Problem('unavailable', { detail: 'The database cannot be reached, or the server is stopping.' });
    return { status: 200, body: { status: 'ready' } };
  },
);

const metrics = openRoute(
  {
    method: 'GET',
    path: '/metrics',
    operationId: 'metrics',
    summary: 'Prometheus figures; from this machine or with the metrics token',
    action: 'metrics.read',
    replies: { 200: { description: 'Text exposition format', contentType: 'text/plain' } },
  },
  async (_call, door) => ({
    status: 200,
    contentType: door.metrics.contentType,
    body: await door.metrics.render(),
  }),
);

function same<T>(values: readonly T[]): T | undefined {
  return new Set(values).size === 1 ? values[0] : undefined;
}

function toHostReply(host: HostRow) {
  return {
    name: host.name,
    alive: host.alive,
    isolation: host.isolation,
    credentials: host.credentials,
    demo: host.demo,
    ...(host.claude_version === undefined ? {} : { claude_version: host.claude_version }),
    slots: host.slots,
    sessions: host.sessions,
    draining: host.draining,
  };
}

const status = callerRoute(
  {
    method: 'GET',
    path: '/api/v1/status',
    operationId: 'getStatus',
    summary: 'What this server is and what its hosts can do',
    action: 'status.read',
    replies: { 200: { description: 'Status', schema: ServerStatus } },
  },
  async ({ caller }, { desk, statusInfo, workspaces }) => {
    const hosts = await desk.listHosts();
    const alive = hosts.filter((host) => host.alive);
    const isolation = same(alive.map((host) => host.isolation));
    const claudeVersion = same(alive.map((host) => host.claude_version));
    return {
      status: 200,
      body: {
        version: statusInfo.version,
        you: { id: caller.actor.id, name: caller.actor.name },
        hosts: hosts.map(toHostReply),
        credentials: alive.some((host) => host.credentials === 'environment') ? 'environment' : 'none',
        demo: alive.some((host) => host.demo),
        ...(isolation === undefined ? {} : { isolation }),
        ...(claudeVersion === undefined ? {} : { claude_version: claudeVersion }),
        ...(statusInfo.default_workspace === undefined ? {} : { default_workspace: statusInfo.default_workspace }),
        workspace_roots: workspaces.roots,
      },
    };
  },
);

const loginLinks = callerRoute(
  {
    method: 'POST',
    path: '/api/v1/login-links',
    operationId: 'createLoginLink',
    summary: 'A fresh one-time link that opens the web app; needs a bearer token',
    action: 'login_links.create',
    replies: { 201: { description: 'The link; valid once, for ten minutes', schema: LoginLink } },
  },
  async ({ caller }, { login }) => ({ status: 201, body: await login.issueLink(caller.actor) }),
);

const logOut = callerRoute(
  {
    method: 'DELETE',
    path: '/api/v1/browser-session',
    operationId: 'endBrowserSession',
    summary: 'Log this browser out',
    action: 'browser_session.end',
    replies: { 204: { description: 'The cookie no longer counts' } },
  },
  async ({ raw, caller }, { login }) => {
    if (raw.browserSecret !== undefined) await login.endSession(raw.browserSecret, caller.actor);
    return { status: 204, headers: { 'set-cookie': login.clearCookie } };
  },
);

export const serviceRoutes: readonly ApiRoute[] = [healthz, readyz, metrics, status, loginLinks, logOut];
