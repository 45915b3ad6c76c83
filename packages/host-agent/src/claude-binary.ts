// What the host was told about the agent's program. Finding or fetching it is the starter's job.

export type ClaudeBinary =
  | { readonly ok: true; readonly path: string; readonly version?: string }
  /** `message` names the next step for the person who runs the host. */
  | { readonly ok: false; readonly code: string; readonly message: string };
