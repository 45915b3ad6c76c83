// Runs sessions on this machine. `startHostAgent` is the whole surface for the command line; the
// run folder is shared with the embedded database's socket.

export type { ClaudeBinary } from './claude-binary.js';
export { endLeftovers } from './end-leftovers.js';
export { type HostAgent, type HostAgentOptions, type HostAgentTimings, startHostAgent } from './host-agent.js';
export { HostAgentError, type HostAgentErrorCode } from './host-agent-error.js';
export type { SandboxTraits } from './sandbox.js';
export { checkSocketPath, openRunDir, SOCKET_PATH_MAX_BYTES } from './socket-path.js';
export type { FileStore } from './store/file-store.js';
export { openStore } from './store/open-store.js';
export { parseStoreSettings, type StoreSettings } from './store/store-address.js';
export { StoreError, type StoreErrorCode } from './store/store-error.js';
