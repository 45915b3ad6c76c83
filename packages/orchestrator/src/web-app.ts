// The web app's files. Names with a content hash never change, everything else is asked for again;
// a path that is no file and wants HTML is the app's own business and gets index.html.

import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { NOT_BUILT_PAGE, PLAIN_PAGE_CSP } from './plain-page.js';
import { APP_CSP } from './security-headers.js';

export function sendPage(reply: FastifyReply, status: number, html: string): FastifyReply {
  return reply
    .code(status)
    .headers({ 'content-security-policy': PLAIN_PAGE_CSP, 'cache-control': 'no-store' })
    .type('text/html; charset=utf-8')
    .send(html);
}

/** Is this path the web app's to answer, should nothing else do? */
export function isAppPath(path: string): boolean {
  return path !== '/api' && !path.startsWith('/api/');
}

function isNavigation(request: FastifyRequest, path: string): boolean {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false;
  const last = path.slice(path.lastIndexOf('/') + 1);
  return isAppPath(path) && !last.includes('.') && (request.headers.accept ?? '').includes('text/html');
}

export interface WebApp {
  /** Answers a navigation that matched no file; false when it is not one. */
  fallback(request: FastifyRequest, reply: FastifyReply, path: string): boolean;
}

export async function serveWebApp(app: FastifyInstance, webRoot: string): Promise<WebApp> {
  await app.register(fastifyStatic, {
    root: webRoot,
    allowedPath: (path) => isAppPath(path) && !/\0|%00/.test(path),
    cacheControl: false,
    dotfiles: 'ignore',
    setHeaders(response, path) {
      const hashed = path.startsWith(join(webRoot, 'assets') + sep);
      response.setHeader('cache-control', hashed ? 'public, max-age=31536000, immutable' : 'no-cache');
      // Also on scripts: a worker runs under the policy of its own response.
      response.setHeader('content-security-policy', APP_CSP);
    },
  });
  return {
    fallback(request, reply, path) {
      if (!isNavigation(request, path)) return false;
      if (existsSync(join(webRoot, 'index.html'))) void reply.code(200).sendFile('index.html');
      else sendPage(reply, 503, NOT_BUILT_PAGE);
      return true;
    },
  };
}
