// The whole table. What is not here does not exist, for the server and for the document alike.

import { generateEventSchemas, generateOpenApi } from './openapi.js';
import { type ApiRoute, openRoute } from './route-table.js';
import { attachmentRoutes } from './routes/attachment-routes.js';
import { eventRoutes } from './routes/event-routes.js';
import { lifecycleRoutes } from './routes/lifecycle-routes.js';
import { promptRoutes } from './routes/prompt-routes.js';
import { questionRoutes } from './routes/question-routes.js';
import { serviceRoutes } from './routes/service-routes.js';
import { sessionRoutes } from './routes/session-routes.js';

const describe: ApiRoute = openRoute(
  {
    method: 'GET',
    path: '/api/v1/openapi.json',
    operationId: 'getOpenApi',
    summary: 'This document',
    action: 'api.describe',
    replies: { 200: { description: 'OpenAPI 3.1' } },
  },
  async () => ({ status: 200, body: apiDocument() }),
);

export const allRoutes: readonly ApiRoute[] = [
  ...sessionRoutes,
  ...promptRoutes,
  ...attachmentRoutes,
  ...questionRoutes,
  ...lifecycleRoutes,
  ...eventRoutes,
  ...serviceRoutes,
  describe,
];

let document: string | undefined;

/** docs/openapi.json, made once. */
export function apiDocument(): string {
  document ??= `${JSON.stringify(generateOpenApi(allRoutes), null, 2)}\n`;
  return document;
}

/** docs/event-schemas.json. */
export function eventDocument(): string {
  return `${JSON.stringify(generateEventSchemas(), null, 2)}\n`;
}
