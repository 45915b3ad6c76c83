// What a file tool did, told from its own successful result. Pure.
//
// The result's patch is the first source (it has line numbers and what was replaced); without one
// the texts in the result are compared; without those the call's input is shown as what it is: a
// whole content (arm `write`) or pairs of strings (arm `edit`), with no counts made up. A failed or
// denied call, and one that changed nothing, gives no event.

import { isAbsolute, relative, resolve, sep } from 'node:path';
import {
  assertNever,
  type EditHunk,
  type FileChange,
  type FileChanged,
  type PatchKind,
  type Truncation,
} from '@engram/harness-proto';
import { asArray, asNonEmptyString, asRecord, asString, isRecord, type JsonRecord } from './json-guards.js';
import { capHunks, type LinePatch, parseStructuredPatch, patchOfNewFile, patchOfTexts } from './line-patch.js';
import { cutText, EVENT_BUDGET_BYTES, INNER_STRING_BYTES } from './text-caps.js';

export interface FileCall {
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly tool_name: string;
  readonly input: unknown;
}

export interface FileCallResult {
  readonly is_error: boolean;
  /** The tool's structured result; undefined when the line did not carry one for this call alone. */
  readonly tool_use_result: unknown;
}

const FILE_TOOLS = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit']);

export function isFileTool(toolName: string): boolean {
  return FILE_TOOLS.has(toolName);
}

export function toFileChanged(call: FileCall, result: FileCallResult, workspace: string): FileChanged | undefined {
  if (result.is_error || !isFileTool(call.tool_name)) return undefined;
  const input = asRecord(call.input) ?? {};
  const output = asRecord(result.tool_use_result) ?? {};
  const path = filePath(input, output);
  const found = path === undefined ? undefined : describe(call.tool_name, input, output);
  if (path === undefined || !found) return undefined;
  const { change, truncation } = capChange(found);
  return {
    type: 'file_changed',
    run_id: call.run_id,
    tool_call_id: call.tool_call_id,
    path: shownPath(path, workspace),
    change,
    ...(truncation ? { truncation } : {}),
  };
}

function describe(toolName: string, input: JsonRecord, output: JsonRecord): FileChange | undefined {
  switch (toolName) {
    case 'Write':
      return describeWrite(input, output);
    case 'NotebookEdit':
      return describeNotebook(input, output);
    default:
      return describeEdit(input, output);
  }
}

function describeWrite(input: JsonRecord, output: JsonRecord): FileChange | undefined {
  const content = asString(output.content) ?? asString(input.content);
  if (content === undefined) return undefined;
  const before = asString(output.originalFile);
  if (output.type === 'create') return patchChange('create', patchOfNewFile(content));
  const own = parseStructuredPatch(output.structuredPatch);
  if (own && own.hunks.length > 0) return patchChange('overwrite', own);
  if (before !== undefined) return patchUnlessEmpty('overwrite', patchOfTexts(before, content));
  // An empty patch without the old text says "unchanged"; no patch at all says nothing.
  return own ? undefined : { type: 'write', content };
}

function describeEdit(input: JsonRecord, output: JsonRecord): FileChange | undefined {
  const edits = parseEdits(input);
  const own = parseStructuredPatch(output.structuredPatch);
  const before = asString(output.originalFile) ?? asString(output.originalFileContents);
  if (own && own.hunks.length > 0) {
    // The result calls a missing file ''; an empty one looks the same and is rarer.
    const isNew = !before && edits.length === 1 && edits[0]?.old === '';
    return patchChange(isNew ? 'create' : 'update', own);
  }
  const after = before === undefined ? undefined : applyEdits(before, edits);
  if (before !== undefined && after !== undefined) return patchUnlessEmpty('update', patchOfTexts(before, after));
  if (own) return undefined;
  const hunks = edits
    .filter((edit) => edit.old !== edit.new)
    .map((edit): EditHunk => ({ old: edit.old, new: edit.new }));
  return hunks.length > 0 ? { type: 'edit', hunks } : undefined;
}

function describeNotebook(input: JsonRecord, output: JsonRecord): FileChange | undefined {
  if (asNonEmptyString(output.error) !== undefined) return undefined;
  const before = asString(output.original_file);
  const after = asString(output.updated_file);
  if (before !== undefined && after !== undefined) return patchUnlessEmpty('update', patchOfTexts(before, after));
  const source = asString(output.new_source) ?? asString(input.new_source);
  const old = asString(output.old_source) ?? '';
  return source === undefined || source === old ? undefined : { type: 'edit', hunks: [{ old, new: source }] };
}

interface StringEdit {
  readonly old: string;
  readonly new: string;
  readonly all: boolean;
}

function parseEdits(input: JsonRecord): readonly StringEdit[] {
  return (asArray(input.edits) ?? [input]).filter(isRecord).flatMap((edit) => {
    const before = asString(edit.old_string);
    const after = asString(edit.new_string);
    return before === undefined || after === undefined
      ? []
      : [{ old: before, new: after, all: edit.replace_all === true }];
  });
}

/** undefined when an edit does not fit the text: then the text is not the one that was edited. */
function applyEdits(before: string, edits: readonly StringEdit[]): string | undefined {
  let text = before;
  for (const edit of edits) {
    const at = text.indexOf(edit.old);
    if (at === -1 || (edit.old === '' && text !== '')) return undefined;
    text = edit.all
      ? text.replaceAll(edit.old, () => edit.new)
      : text.slice(0, at) + edit.new + text.slice(at + edit.old.length);
  }
  return edits.length > 0 ? text : undefined;
}

function patchChange(kind: PatchKind, patch: LinePatch): FileChange {
  return { type: 'patch', kind, ...patch };
}

function patchUnlessEmpty(kind: PatchKind, patch: LinePatch): FileChange | undefined {
  return patch.hunks.length > 0 ? patchChange(kind, patch) : undefined;
}

function filePath(input: JsonRecord, output: JsonRecord): string | undefined {
  return (
    asNonEmptyString(output.filePath) ??
    asNonEmptyString(output.notebook_path) ??
    asNonEmptyString(input.file_path) ??
    asNonEmptyString(input.notebook_path)
  );
}

/** Relative to the workspace when inside it, else absolute. */
export function shownPath(path: string, workspace: string): string {
  const absolute = resolve(workspace, path);
  const inside = relative(workspace, absolute);
  const outside = inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside);
  return outside ? absolute : inside;
}

function capChange(change: FileChange): { change: FileChange; truncation: Truncation | undefined } {
  switch (change.type) {
    case 'patch': {
      const { hunks, truncation } = capHunks(change.hunks);
      return { change: { ...change, hunks }, truncation };
    }
    case 'write': {
      const { text, dropped } = cutText(change.content, INNER_STRING_BYTES);
      return { change: { type: 'write', content: text }, truncation: toTruncation(0, dropped) };
    }
    case 'edit':
      return capEdit(change.hunks);
    default:
      return assertNever(change);
  }
}

function capEdit(hunks: readonly EditHunk[]): { change: FileChange; truncation: Truncation | undefined } {
  let droppedBytes = 0;
  let used = 0;
  const kept: EditHunk[] = [];
  for (const hunk of hunks) {
    const before = cutText(hunk.old, INNER_STRING_BYTES);
    const after = cutText(hunk.new, INNER_STRING_BYTES);
    used += Buffer.byteLength(before.text) + Buffer.byteLength(after.text) + 16;
    if (used > EVENT_BUDGET_BYTES) break;
    droppedBytes += before.dropped + after.dropped;
    kept.push({ old: before.text, new: after.text });
  }
  for (const hunk of hunks.slice(kept.length))
    droppedBytes += Buffer.byteLength(hunk.old) + Buffer.byteLength(hunk.new);
  return { change: { type: 'edit', hunks: kept }, truncation: toTruncation(hunks.length - kept.length, droppedBytes) };
}

function toTruncation(hunks: number, bytes: number): Truncation | undefined {
  return hunks > 0 || bytes > 0 ? { dropped_hunks: hunks, dropped_bytes: bytes } : undefined;
}
