export { createDemoModel, DEMO_MODEL_NAME, type DemoModel, type DemoModelOptions } from './demo-model.js';
export { STORY_FILE, STORY_QUESTION } from './demo-story.js';
export type { RequestBlock, RequestMessage } from './messages-request.js';
export * from './reply-script.js';
export { type LogEntry, timesTold, toolResultsOf } from './request-log.js';
export { BUILTIN_SCENARIOS, DATABASE_QUESTION, EDITOR_QUESTION, echo, LANGUAGES_QUESTION } from './scenarios.js';
