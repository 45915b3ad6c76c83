export { type AnswersCheck, checkAnswers } from './check-answers.js';
export * from './coordinator.js';
export { CoordinatorError, type CoordinatorErrorCode } from './coordinator-error.js';
export { type CoordinatorOptions, createCoordinator } from './create-coordinator.js';
export type { ConnectionSource } from './database.js';
export { MAX_ATTACHMENT_BYTES } from './desk/attachments.js';
export type { PostgresConnection } from './embedded/cluster.js';
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from './embedded/embedded-postgres.js';
export { IMAGE_TYPES } from './media-type.js';
export { mayPass } from './open-failure.js';
export * from './session-events.js';
