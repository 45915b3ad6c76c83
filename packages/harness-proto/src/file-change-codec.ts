// The three arms of a file change on the wire: 0 write, 1 edit, 2 patch.

import { assertNever } from './assert-never.js';
import type { EditHunk, FileChange, PatchHunk, PatchKind, Truncation } from './events.js';
import { type Read, readStrings } from './reader.js';
import { type Write, writeStrings } from './writer.js';

const CHANGE_TYPES = ['write', 'edit', 'patch'] as const satisfies readonly FileChange['type'][];
const PATCH_KINDS = ['create', 'update', 'overwrite'] as const satisfies readonly PatchKind[];

const readEditHunk: Read<EditHunk> = (reader) => ({ old: reader.string(), new: reader.string() });
const writeEditHunk: Write<EditHunk> = (writer, hunk) => {
  writer.string(hunk.old);
  writer.string(hunk.new);
};

const readPatchHunk: Read<PatchHunk> = (reader) => ({
  old_start: reader.u32(),
  old_lines: reader.u32(),
  new_start: reader.u32(),
  new_lines: reader.u32(),
  lines: readStrings(reader),
});
const writePatchHunk: Write<PatchHunk> = (writer, hunk) => {
  writer.u32(hunk.old_start);
  writer.u32(hunk.old_lines);
  writer.u32(hunk.new_start);
  writer.u32(hunk.new_lines);
  writeStrings(writer, hunk.lines);
};

export const readFileChange: Read<FileChange> = (reader) => {
  const type = reader.oneOf(CHANGE_TYPES);
  switch (type) {
    case 'write':
      return { type, content: reader.string() };
    case 'edit':
      return { type, hunks: reader.list(16, readEditHunk) };
    case 'patch':
      return {
        type,
        kind: reader.oneOf(PATCH_KINDS),
        hunks: reader.list(24, readPatchHunk),
        additions: reader.u64(),
        deletions: reader.u64(),
        approximate: reader.bool(),
      };
    default:
      return assertNever(type);
  }
};

export const writeFileChange: Write<FileChange> = (writer, change) => {
  writer.oneOf<FileChange['type']>(CHANGE_TYPES, change.type);
  switch (change.type) {
    case 'write':
      writer.string(change.content);
      break;
    case 'edit':
      writer.list(change.hunks, writeEditHunk);
      break;
    case 'patch':
      writer.oneOf<PatchKind>(PATCH_KINDS, change.kind);
      writer.list(change.hunks, writePatchHunk);
      writer.u64(change.additions);
      writer.u64(change.deletions);
      writer.bool(change.approximate);
      break;
    default:
      assertNever(change);
  }
};

export const readTruncation: Read<Truncation> = (reader) => ({
  dropped_hunks: reader.u64(),
  dropped_bytes: reader.u64(),
});
export const writeTruncation: Write<Truncation> = (writer, truncation) => {
  writer.u64(truncation.dropped_hunks);
  writer.u64(truncation.dropped_bytes);
};
