// Starters and fixtures for tests. Everything runs on loopback, in temporary folders, with made-up keys.

export * from './bare-cli.js';
export { type Browser, type BrowserContext, launchBrowser, type Page } from './browser.js';
export { claudeBinary, claudeVersions, repositoryRoot, versionsToTest } from './claude-binary.js';
export { cleanEnvironment } from './clean-environment.js';
export { PROBES, type Probe, type ProbeResult } from './probes.js';
export { type ProcessKind, type ProcessRow, readProcessTable } from './process-table.js';
export { type Engram, type EngramApi, type EngramOptions, type Exit, spawnUp, startEngram } from './start-engram.js';
export { type Part, type PartOptions, spawnPart, toDatabaseUrl } from './start-part.js';
export { startTestPostgres, type TestPostgres } from './test-postgres.js';
export { waitFor } from './wait-for.js';
export * from './web-scenes.js';
export { type NewStagedSession, STAGE_OWNER, type StagedSession, startWebStage, type WebStage } from './web-stage.js';
