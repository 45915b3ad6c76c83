export * from './coordinator.js';
export * from './session-events.js';
