// What the test kit uses of the command line: its way of calling the API, and its configuration.

export {
  type ApiClient,
  ApiRefusal,
  createApiClient,
  type EventPage,
  type LoginLink,
  type NewSessionBody,
} from './api-client.js';
export { type ApiEvent, isKnownEvent, type KnownEvent } from './api-events.js';
export { CliError, type CliErrorCode } from './cli-error.js';
