// The one JSON document by which a host gives a session to a harness that was started ahead.
// The harness reads it as a single line on its stdin; nothing of it goes into argv or environment.

/** Where and how the agent's processes are started: the sandbox's view of the world. */
export interface AgentLaunch {
  /** Put in front of the agent's own argv; empty without isolation. */
  readonly exec_prefix: readonly string[];
  /** The whole environment of the agent, HOME and CLAUDE_CONFIG_DIR included. */
  readonly env: Readonly<Record<string, string>>;
}

export interface HarnessAssignment {
  readonly session_id: string;
  readonly epoch: number;
  /** Unix socket made by the host; the harness connects and attaches with `secret`. */
  readonly socket_path: string;
  /** 32 random bytes, hex. */
  readonly secret: string;
  /** Real path, resolved once when the session was made; the agent's cwd on every wake. */
  readonly workspace: string;
  readonly agent_home: string;
  /** The harness's own durable files: saved state, outgoing events, settings file. */
  readonly state_dir: string;
  /** 0700 folder with a short path for this session's sockets. */
  readonly run_dir: string;
  readonly claude_bin: string;
  /** The agent's own session id, when one is known to the host; the harness's saved state wins. */
  readonly claude_session_id?: string;
  readonly model?: string;
  /** Unix socket path for `hook-bridge`; the harness binds it before it starts the agent. */
  readonly hook_socket: string;
  readonly launch: AgentLaunch;
  /** How long a held question waits for its answer by default. */
  readonly hold_ms: number;
  /**
   * A verdict on this parked call is stored and follows the attach: its agent may be resumed at once,
   * and holds the call's hook for so long. The harness's saved state decides whether it can.
   */
  readonly ahead?: { readonly tool_call_id: string; readonly hold_ms: number };
}
