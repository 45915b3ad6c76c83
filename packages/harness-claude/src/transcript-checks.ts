// What the conversation's file says once its process is gone: is the call parked, can it be resumed,
// did the agent ever see a line. Mends where it safely can.

import { join } from 'node:path';
import type { HarnessAssignment } from '@engram/harness-proto';
import type { Logger } from 'pino';
import { QUESTION_TOOL } from './question-input.js';
import type { ParkedCall, Verdict } from './question-state.js';
import type { TakenLine } from './taken-lines.js';
import {
  hasDeferredMarker,
  hasToolResult,
  isPoisoned,
  type LineTrace,
  toolResults,
  toolResultText,
  traceOfUserLine,
} from './transcript.js';
import { appendDeferredMarker, findTranscriptPath, readTranscript, scrubTranscriptFile } from './transcript-file.js';
import { verdictCarried } from './verdict-proof.js';

export interface TranscriptChecks {
  isDeferred(claudeSessionId: string | undefined, call: ParkedCall): Promise<boolean>;
  /** True when a resume will fire the call's hook again. */
  isResumable(claudeSessionId: string | undefined, call: ParkedCall, mend: boolean): Promise<boolean>;
  /** Does the call's result hold the verdict, and how far did its run come? */
  answerOf(
    claudeSessionId: string | undefined,
    call: ParkedCall,
    verdict: Verdict,
  ): Promise<{ readonly trace: LineTrace; readonly carries: boolean }>;
  traceOf(claudeSessionId: string | undefined, uuid: string): Promise<LineTrace>;
  /** Those that the conversation does not hold. */
  absentOf(claudeSessionId: string | undefined, lines: readonly TakenLine[]): Promise<readonly TakenLine[]>;
}

export function createTranscriptChecks(assignment: HarnessAssignment, log: Logger): TranscriptChecks {
  const configDir = assignment.launch.env.CLAUDE_CONFIG_DIR ?? join(assignment.agent_home, '.claude');
  const pathOf = async (id: string | undefined): Promise<string | undefined> =>
    id === undefined ? undefined : findTranscriptPath(configDir, assignment.workspace, id);

  return {
    async isDeferred(id, call) {
      const path = await pathOf(id);
      if (path === undefined) return false;
      const transcript = await readTranscript(path);
      return hasDeferredMarker(transcript, call.toolCallId) && !hasToolResult(transcript, call.toolCallId);
    },
    async isResumable(id, call, mend) {
      const path = await pathOf(id);
      if (path === undefined) return false;
      if (mend || isPoisoned(await readTranscript(path), call.toolCallId)) {
        const backup = join(assignment.state_dir, 'transcript-before-mend.jsonl');
        const result = await scrubTranscriptFile(path, call.toolCallId, backup);
        log.info({ toolCallId: call.toolCallId, result: result.ok ? 'mended' : result.reason }, 'transcript mended');
        if (!result.ok) return false;
      }
      const deferred = { id: call.toolCallId, name: QUESTION_TOOL, input: call.input };
      const marker = await appendDeferredMarker(path, deferred, 'default');
      if (!marker.ok) log.warn({ toolCallId: call.toolCallId, reason: marker.reason }, 'call cannot be resumed');
      else if (marker.append) log.warn({ toolCallId: call.toolCallId }, 'resume marker was missing and is written');
      return marker.ok;
    },
    async answerOf(id, call, verdict) {
      const path = await pathOf(id);
      if (path === undefined) return { trace: 'absent', carries: false };
      const transcript = await readTranscript(path);
      const text = toolResultText(transcript, call.toolCallId);
      const line = transcript.lines.find((one) =>
        toolResults(one).some((result) => result.toolUseId === call.toolCallId && !result.isPlaceholder),
      );
      if (text === undefined || line?.uuid === undefined) return { trace: 'absent', carries: false };
      // The file does not say reliably whether a result is an error; the words of a denial do.
      const isDenial = verdict.type === 'denied' || verdict.type === 'denied_then_prompt';
      return {
        trace: traceOfUserLine(transcript, line.uuid),
        carries: verdictCarried(call, verdict, isDenial, text),
      };
    },
    async traceOf(id, uuid) {
      const path = await pathOf(id);
      return path === undefined ? 'absent' : traceOfUserLine(await readTranscript(path), uuid);
    },
    async absentOf(id, lines) {
      const path = await pathOf(id);
      if (path === undefined) return lines;
      const transcript = await readTranscript(path);
      return lines.filter(({ uuid }) => traceOfUserLine(transcript, uuid) === 'absent');
    },
  };
}
