// The resume marker. Without a `hook_deferred_tool` line the CLI does not fire the hook again for a
// parked call, and a process that is killed right at its deferred result may not have written it.
// This makes the missing line from the call's own line. Pure: the caller gives uuid and time.

import { asRecord, type JsonRecord } from './json-guards.js';
import { askingIndex, hasDeferredMarker, hasToolResult, isPoisoned, type Transcript } from './transcript.js';

export interface DeferredCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

export type MarkerResult =
  /** Bytes to append to the file. */
  | { readonly ok: true; readonly append: Uint8Array }
  | { readonly ok: true; readonly append: undefined }
  | { readonly ok: false; readonly reason: 'question_missing' | 'already_answered' | 'went_on' };

/** Fields of every line that come from the conversation, not from what the line says. */
const SHARED_FIELDS = ['userType', 'entrypoint', 'cwd', 'sessionId', 'version', 'gitBranch', 'slug'] as const;

export function deferredMarker(
  transcript: Transcript,
  call: DeferredCall,
  facts: { readonly uuid: string; readonly nowIso: string; readonly permissionMode: string },
): MarkerResult {
  if (hasDeferredMarker(transcript, call.id)) return { ok: true, append: undefined };
  const asking = transcript.lines[askingIndex(transcript, call.id)]?.record;
  if (!asking) return { ok: false, reason: 'question_missing' };
  if (hasToolResult(transcript, call.id)) return { ok: false, reason: 'already_answered' };
  if (isPoisoned(transcript, call.id)) return { ok: false, reason: 'went_on' };
  // The last line of the conversation, which after a sibling's result is not the asking one.
  const parent = transcript.lines.findLast((line) => line.kind !== 'other' && line.uuid !== undefined);
  const record: JsonRecord = {
    parentUuid: parent?.uuid ?? null,
    isSidechain: false,
    attachment: {
      type: 'hook_deferred_tool',
      toolUseID: call.id,
      toolName: call.name,
      toolInput: asRecord(call.input) ?? {},
      hookName: 'settings',
      hookEvent: 'PreToolUse',
      permissionMode: facts.permissionMode,
    },
    type: 'attachment',
    uuid: facts.uuid,
    timestamp: facts.nowIso,
    ...Object.fromEntries(SHARED_FIELDS.flatMap((key) => (key in asking ? [[key, asking[key]]] : []))),
  };
  const text = `${transcript.endsTorn ? '\n' : ''}${JSON.stringify(record)}\n`;
  return { ok: true, append: Buffer.from(text) };
}
