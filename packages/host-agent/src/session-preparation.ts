// Everything a session needs before its harness may start: the agent's program, a way to a model,
// the sandbox with its workspace, and the folder of its sockets. What cannot be had is refused with
// the next step, for the session's own log.

import { access, constants } from 'node:fs/promises';
import type { Claim, HostDesk } from '@engram/coordinator';
import { DEMO_MODEL } from './agent-environment.js';
import type { ClaudeBinary } from './claude-binary.js';
import type { RunningSandbox, Sandbox } from './sandbox.js';
import type { SessionFiles } from './session-files.js';
import { openSessionSockets, removeSessionSockets, type SessionSockets } from './socket-path.js';

export interface PreparationInput {
  readonly claim: Claim;
  readonly desk: Pick<HostDesk, 'appendHostEvent'>;
  readonly sandbox: Sandbox;
  readonly files: Pick<SessionFiles, 'bring'>;
  readonly runDir: string;
  readonly credentials: 'environment' | 'none';
  readonly resolveClaude: () => Promise<ClaudeBinary>;
}

export interface OpenSockets extends SessionSockets {
  remove(): Promise<void>;
}

export type Preparation =
  | {
      readonly ok: true;
      readonly sandbox: RunningSandbox;
      readonly sockets: OpenSockets;
      readonly claudePath: string;
    }
  | { readonly ok: false; readonly code: string; readonly message: string };

export async function prepareSession(input: PreparationInput, signal: AbortSignal): Promise<Preparation> {
  const { claim, sandbox } = input;
  const { session } = claim;
  if (input.credentials === 'none' && session.model !== DEMO_MODEL) {
    return {
      ok: false,
      code: 'no_credentials',
      message:
        'This host has no model credentials. Set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN in its environment and restart it, or use the demo.',
    };
  }
  const hadRun = claim.lastHarnessSeq > 0;
  const brought = await input.files.bring(claim);
  if (!brought.ok) return brought;
  const [claude, started, sockets] = await Promise.all([
    input.resolveClaude(),
    sandbox.start(
      {
        sessionId: session.id,
        workspace: session.workspace,
        ...(session.model === undefined ? {} : { model: session.model }),
      },
      { hadRun, signal },
    ),
    openSessionSockets(input.runDir, session.id),
  ]);
  if (!claude.ok) return claude;
  const runnable = await access(claude.path, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!runnable) {
    return {
      ok: false,
      code: 'agent_not_runnable',
      message: `The agent program ${claude.path} cannot be run. Set ENGRAM_CLAUDE_BIN to one that can; engram doctor says more.`,
    };
  }
  if (!started.ok) return started;
  const lost = hadRun ? lostContext(claim, started.sandbox.restored, brought.fellBack) : undefined;
  if (lost !== undefined) {
    await input.desk.appendHostEvent(session.id, claim.epoch, {
      type: 'session_error',
      code: 'context_lost',
      message: lost,
    });
  }
  return {
    ok: true,
    sandbox: started.sandbox,
    sockets: { ...sockets, remove: () => removeSessionSockets(sockets) },
    claudePath: claude.path,
  };
}

/** What the person should know when the newest files are not the ones that the agent goes on with. */
function lostContext({ files }: Claim, restored: boolean, fellBack: boolean): string | undefined {
  if (!restored) {
    return "The agent's files of this session are not on this host: it goes on without its earlier conversation.";
  }
  if (fellBack) {
    return 'The files of this session are gone from this host. It goes on from those that were stored last.';
  }
  if (!files.lost) return undefined;
  return files.manifest === undefined
    ? 'The host that ran this session last is gone, and its files with it: it goes on from older ones of this host.'
    : 'The host that ran this session last is gone. It goes on from the files that were stored last; what that host did since is lost, and an unfinished run begins again.';
}
