// The place an agent runs in, as a port. The harness stays outside; the agent's program and all it
// starts run inside. Implementations differ in what they can enforce and must say so: nothing here
// may promise an isolation that is not there.
//
// test/sandbox-contract.ts is the port's contract; every implementation runs it.

import type { Workspace } from '@engram/coordinator';
import type { AgentLaunch } from '@engram/harness-proto';

export interface SandboxLimits {
  readonly memoryBytes?: number;
  readonly processes?: number;
}

/** `model_only`: the model endpoint and `allowedHosts`. `open`: all but private, loopback and link-local addresses. */
export interface NetworkPolicy {
  readonly mode: 'model_only' | 'open';
  readonly allowedHosts: readonly string[];
}

export interface SandboxSpec {
  readonly sessionId: string;
  readonly workspace: Workspace;
  readonly model?: string;
  readonly limits?: SandboxLimits;
  readonly network?: NetworkPolicy;
}

export interface SandboxTraits {
  /** `process`, `bubblewrap`, … */
  readonly isolation: string;
  /** One sentence for the person who starts the host: what the agent can and cannot do. */
  readonly statement: string;
  readonly enforcesFiles: boolean;
  readonly enforcesNetwork: boolean;
  readonly enforcesLimits: boolean;
}

export interface SandboxExit {
  /** Undefined when a signal ended it. */
  readonly exitCode?: number;
  readonly timedOut: boolean;
  /** The last 8 KiB of each stream. */
  readonly stdout: string;
  readonly stderr: string;
}

export interface ExecOptions {
  readonly cwd: string;
  readonly timeoutMs: number;
  /** Added to the sandbox's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly signal?: AbortSignal;
}

/** A started sandbox. Its paths stay the same on every start of the same session. */
export interface RunningSandbox {
  readonly sessionId: string;
  /** Real path, as the agent sees it. */
  readonly workspace: string;
  readonly agentHome: string;
  readonly stateDir: string;
  /** How to start a program inside: put in front of its argv, and its whole environment. */
  readonly launch: AgentLaunch;
  /** False when the session had run before and its files are not here. */
  readonly restored: boolean;
  exec(argv: readonly string[], options: ExecOptions): Promise<SandboxExit>;
  /** Ends every process inside; none is left when it resolves. Gives how many had to be ended. */
  stop(graceMs: number): Promise<number>;
  /** After `stop`: the files are safe, and a later start finds them. */
  store(): Promise<void>;
}

export type SandboxRefusal =
  | 'workspace_missing'
  | 'workspace_not_allowed'
  | 'clone_refused'
  | 'clone_failed'
  | 'clone_timeout'
  | 'demo_unavailable'
  | 'limits_unsupported'
  | 'aborted';

export type SandboxStart =
  | { readonly ok: true; readonly sandbox: RunningSandbox }
  | { readonly ok: false; readonly code: SandboxRefusal; readonly message: string };

export interface Sandbox {
  readonly traits: SandboxTraits;
  /** Makes the session's folders, restores its files, prepares its workspace. */
  start(spec: SandboxSpec, options: { readonly hadRun: boolean; readonly signal: AbortSignal }): Promise<SandboxStart>;
  /** Ends what is left of a session and removes its files. Never touches a `path` workspace. */
  remove(sessionId: string): Promise<void>;
  /** Ends what an earlier life of this host left running inside any of its sandboxes. */
  endOrphans(): Promise<number>;
}
