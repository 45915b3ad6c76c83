export { allRoutes, apiDocument, eventDocument } from './all-routes.js';
export { breakingChanges } from './api-diff.js';
export { createLoginLink, type LoginLink } from './browser-login.js';
export type { StatusInfo } from './door.js';
export { eventSchemas } from './event-schemas.js';
export { generateEventSchemas, generateOpenApi } from './openapi.js';
export { createOrchestrator, type Orchestrator, type OrchestratorOptions } from './orchestrator.js';
export { PROBLEM_CODES, PROBLEMS, type ProblemBody, type ProblemCode } from './problem.js';
