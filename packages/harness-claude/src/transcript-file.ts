// Thin I/O beside transcript.ts: where the CLI keeps a conversation, reading it, and replacing it in
// one step. Only for a conversation that no agent process has open.

import { randomUUID } from 'node:crypto';
import { chmod, chown, copyFile, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseTranscript, type Transcript } from './transcript.js';
import { missingPointer } from './transcript-leaf.js';
import { type DeferredCall, deferredMarker, type MarkerResult } from './transcript-marker.js';
import { withTrueRecord } from './transcript-record.js';
import { withCallReopened } from './transcript-reopen.js';
import { type ScrubResult, scrubTranscript } from './transcript-scrub.js';

/** The folder's name for a working directory: everything but letters and digits becomes a dash. */
export function projectFolderName(cwd: string): string {
  return cwd.replace(/[^a-zA-Z0-9]/g, '-');
}

/** Undefined when the CLI has no conversation of this id. Ids are unique, so another folder name is found too. */
export async function findTranscriptPath(
  claudeConfigDir: string,
  cwd: string,
  claudeSessionId: string,
): Promise<string | undefined> {
  const projects = join(claudeConfigDir, 'projects');
  const file = `${claudeSessionId}.jsonl`;
  const expected = projectFolderName(cwd);
  // The CLI shortens very long names in a way of its own.
  const folders = [expected, ...(await listFolder(projects)).filter((name) => name !== expected)];
  for (const folder of folders) {
    const path = join(projects, folder, file);
    if (await isFile(path)) return path;
  }
  return undefined;
}

export async function readTranscript(path: string): Promise<Transcript> {
  return parseTranscript(await readFile(path));
}

/** Scrubs in place. With `backupPath` the file as it was is kept there first. */
export async function scrubTranscriptFile(path: string, toolUseId: string, backupPath?: string): Promise<ScrubResult> {
  const result = scrubTranscript(await readFile(path), toolUseId);
  if (result.ok && result.removed > 0) await replaceKept(path, result.bytes, backupPath);
  return result;
}

/** True when the call's hook will fire again, which it would not have. */
export async function reopenCall(path: string, toolUseId: string, backupPath: string): Promise<boolean> {
  const bytes = withCallReopened(await readFile(path), toolUseId);
  if (bytes !== undefined) await replaceKept(path, bytes, backupPath);
  return bytes !== undefined;
}

async function replaceKept(path: string, bytes: Uint8Array, backupPath: string | undefined): Promise<void> {
  if (backupPath !== undefined) {
    await mkdir(dirname(backupPath), { recursive: true });
    await copyFile(path, backupPath);
  }
  await replaceFile(path, bytes);
}

/** Adds the resume marker of a parked call when it is missing. */
export async function appendDeferredMarker(
  path: string,
  call: DeferredCall,
  permissionMode: string,
): Promise<MarkerResult> {
  const facts = { uuid: randomUUID(), nowIso: new Date().toISOString(), permissionMode };
  const result = deferredMarker(await readTranscript(path), call, facts);
  if (result.ok && result.append) await append(path, result.append);
  return result;
}

/** After a process that was killed: true when a resume would have gone on at an earlier place. */
export async function mendPointer(path: string): Promise<boolean> {
  const pointer = missingPointer(await readTranscript(path));
  if (pointer !== undefined) await append(path, pointer);
  return pointer !== undefined;
}

async function append(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'a');
  try {
    await file.appendFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Takes back what the file says about a user who did nothing; gives how many lines did. */
export async function mendRecord(path: string): Promise<number> {
  const { bytes, changed } = withTrueRecord(await readFile(path));
  if (changed > 0) await replaceFile(path, bytes);
  return changed;
}

/** New content under the same name, mode and owner; a crash leaves the old file or the new one. */
export async function replaceFile(path: string, bytes: Uint8Array): Promise<void> {
  const { mode, uid, gid } = await stat(path);
  const temporary = join(dirname(path), `.${randomUUID()}.tmp`);
  try {
    const file = await open(temporary, 'wx', mode & 0o777);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await chmod(temporary, mode & 0o7777);
    const made = await stat(temporary);
    if (made.uid !== uid || made.gid !== gid) await chown(temporary, uid, gid);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function listFolder(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch {
    return [];
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
