// The assignment as it comes on stdin: one JSON line, checked field by field.

import type { HarnessAssignment } from '@engram/harness-proto';
import { HarnessError } from './harness-error.js';
import { asNumber, asRecord, asString, asStrings, type JsonRecord, parseJson } from './json-guards.js';

export function parseAssignment(line: string): HarnessAssignment {
  const record = asRecord(parseJson(line));
  if (!record) throw new HarnessError('bad_assignment', 'the assignment is no JSON object');
  const launch = asRecord(record.launch) ?? {};
  const claudeSessionId = asString(record.claude_session_id);
  const model = asString(record.model);
  const ahead = asRecord(record.ahead);
  return {
    session_id: text(record, 'session_id'),
    epoch: number(record, 'epoch'),
    socket_path: text(record, 'socket_path'),
    secret: text(record, 'secret'),
    workspace: text(record, 'workspace'),
    agent_home: text(record, 'agent_home'),
    state_dir: text(record, 'state_dir'),
    run_dir: text(record, 'run_dir'),
    claude_bin: text(record, 'claude_bin'),
    ...(claudeSessionId === undefined ? {} : { claude_session_id: claudeSessionId }),
    ...(model === undefined ? {} : { model }),
    hook_socket: text(record, 'hook_socket'),
    launch: { exec_prefix: asStrings(launch.exec_prefix), env: strings(asRecord(launch.env) ?? {}) },
    hold_ms: number(record, 'hold_ms'),
    ...(ahead ? { ahead: { tool_call_id: text(ahead, 'tool_call_id'), hold_ms: number(ahead, 'hold_ms') } } : {}),
  };
}

function text(record: JsonRecord, name: string): string {
  const value = asString(record[name]);
  if (value === undefined) throw new HarnessError('bad_assignment', `the assignment has no ${name}`);
  return value;
}

function number(record: JsonRecord, name: string): number {
  const value = asNumber(record[name]);
  if (value === undefined) throw new HarnessError('bad_assignment', `the assignment has no ${name}`);
  return value;
}

function strings(record: JsonRecord): Record<string, string> {
  const found = Object.entries(record).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  );
  return Object.fromEntries(found);
}
