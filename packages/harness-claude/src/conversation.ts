// What the agent's conversation needs before an agent goes on with it: its place, when the session comes from another
// one, and the truth, when the last process was killed. Nothing here fails: what cannot be mended is logged.

import { join } from 'node:path';
import { assertNever, type HarnessAssignment } from '@engram/harness-proto';
import type { Logger } from 'pino';
import type { SessionState } from './session-core.js';
import { findTranscriptPath, mendPointer, mendRecord, reopenCall } from './transcript-file.js';
import { rehomeConversation } from './transcript-home.js';

export interface Conversation {
  /** For a session's first agent here. `cut`: nobody saw the last agent leave. */
  prepare(state: SessionState, cut: boolean): Promise<void>;
  /** After a process that was killed. */
  mendEnd(claudeSessionId: string | undefined): Promise<void>;
}

export function createConversation(assignment: HarnessAssignment, log: Logger): Conversation {
  const { agent_home: agentHome, workspace, launch } = assignment;
  const configDir = launch.env.CLAUDE_CONFIG_DIR ?? join(agentHome, '.claude');

  /** The session may have been stored at another path, on another host. */
  async function bringHome(claudeSessionId: string): Promise<void> {
    const moved = await rehomeConversation({ configDir, agentHome, workspace, claudeSessionId });
    if (moved !== undefined) log.info('the conversation was moved to this workspace');
  }

  /** A run was open when the last harness died: its agent may have taken that for a word of the user's. */
  async function mendCutRun(claudeSessionId: string): Promise<void> {
    const path = await findTranscriptPath(configDir, workspace, claudeSessionId);
    const changed = path === undefined ? 0 : await mendRecord(path);
    if (changed > 0) log.warn({ changed }, 'the conversation told of a user who did nothing; mended');
  }

  /** Its hook was held when its harness died: the agent asked nobody and took that for an answer. */
  async function reopen(claudeSessionId: string, toolCallId: string): Promise<void> {
    const path = await findTranscriptPath(configDir, workspace, claudeSessionId);
    const backup = join(assignment.state_dir, 'transcript-before-mend.jsonl');
    if (path !== undefined && (await reopenCall(path, toolCallId, backup)))
      log.warn({ toolCallId }, 'the agent had gone on without asking; its question is open again');
  }

  async function mendEnd(claudeSessionId: string): Promise<void> {
    const path = await findTranscriptPath(configDir, workspace, claudeSessionId);
    if (path !== undefined && (await mendPointer(path))) log.warn('the conversation pointed at an earlier end; mended');
  }

  async function attempt(work: Promise<void>, trouble: string): Promise<void> {
    await work.catch((error: unknown) => log.error({ err: error }, trouble));
  }

  return {
    async prepare(state, cut) {
      const id = state.claudeSessionId ?? assignment.claude_session_id;
      if (id === undefined) return;
      await attempt(bringHome(id), 'the conversation could not be moved to this workspace');
      const { turn } = state.runs;
      if (turn.status === 'running' && !turn.interrupting)
        await attempt(mendCutRun(id), 'conversation of a cut run could not be looked at');
      const owed = cut ? owedCall(state) : undefined;
      if (owed !== undefined) await attempt(reopen(id, owed), 'the question could not be opened again');
      if (cut) await attempt(mendEnd(id), 'the end of the conversation could not be looked at');
    },
    async mendEnd(id) {
      if (id !== undefined) await attempt(mendEnd(id), 'the end of the conversation could not be looked at');
    },
  };
}

/** The parked call whose hook is to fire again. */
function owedCall({ question }: SessionState): string | undefined {
  switch (question.status) {
    case 'waiting':
    case 'attending':
    case 'denial_owed':
      return question.call.toolCallId;
    case 'answering':
      return question.route === 'resume' ? question.call.toolCallId : undefined;
    case 'none':
    case 'deferring':
    case 'parking':
    case 'held':
    case 'told':
      return undefined;
    default:
      return assertNever(question);
  }
}
