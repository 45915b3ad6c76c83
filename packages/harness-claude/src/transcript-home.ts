// A session that comes back on another host may lie at another path there. The CLI looks for a
// conversation in a folder named after the working directory, and the conversation itself names files
// by their whole paths: both are brought to the new place before an agent starts.
//
// What the model thought is signed and stays as it was; what it said, called and was told is moved.

import { mkdir, readdir, readFile, rename, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { asRecord, asString, parseJson } from './json-guards.js';
import { findTranscriptPath, projectFolderName, replaceFile } from './transcript-file.js';

export interface ConversationPlace {
  readonly configDir: string;
  readonly agentHome: string;
  readonly workspace: string;
  readonly claudeSessionId: string;
}

/** Longer names are shortened by the CLI in a way of its own. */
const NAME_MAX = 200;

/** Gives where the conversation was before, when it was moved. */
export async function rehomeConversation(place: ConversationPlace): Promise<string | undefined> {
  const { configDir, workspace, claudeSessionId } = place;
  const name = projectFolderName(workspace);
  const found = await findTranscriptPath(configDir, workspace, claudeSessionId);
  if (found === undefined || name.length > NAME_MAX) return undefined;
  const folder = dirname(found);
  if (basename(folder) === name) return undefined;
  const before = lastWorkingDirectory(await readFile(found));
  if (before === undefined || before === workspace) return undefined;
  const moves = toMoves(before, place);
  for (const path of await conversationFiles(folder)) {
    const old = await readFile(path);
    const moved = movePaths(old, moves);
    if (moved !== old) await replaceFile(path, moved);
  }
  // Last: from here on it is found, and nothing of the above is done again.
  await moveFolder(folder, join(configDir, 'projects', name), claudeSessionId);
  return before;
}

type Move = readonly [from: string, to: string];

/** The longest first. A session's folder holds workspace and home side by side; the rest of the machine does not move. */
function toMoves(before: string, { agentHome, workspace }: ConversationPlace): readonly Move[] {
  const [oldRoot, newRoot] = [dirname(before), dirname(workspace)];
  const together = basename(before) === basename(workspace) && newRoot === dirname(agentHome);
  return [
    together ? [oldRoot, newRoot] : [before, workspace],
    [projectFolderName(before), projectFolderName(workspace)],
  ];
}

/** The same bytes back when nothing in them moves. */
export function movePaths(transcript: Buffer, moves: readonly Move[]): Buffer {
  const lines: Buffer[] = [];
  let start = 0;
  let changed = false;
  for (let lf = transcript.indexOf(0x0a); lf !== -1; lf = transcript.indexOf(0x0a, start)) {
    const line = transcript.subarray(start, lf + 1);
    const moved = moveLine(line, moves);
    changed ||= moved !== line;
    lines.push(moved);
    start = lf + 1;
  }
  // What a crash cut off is not ours to read.
  lines.push(transcript.subarray(start));
  return changed ? Buffer.concat(lines) : transcript;
}

function moveLine(line: Buffer, moves: readonly Move[]): Buffer {
  if (!moves.some(([from]) => line.includes(JSON.stringify(from).slice(1, -1)))) return line;
  const value = parseJson(line.toString('utf8'));
  return value === undefined ? line : Buffer.from(`${JSON.stringify(moveIn(value, moves))}\n`);
}

function moveIn(value: unknown, moves: readonly Move[]): unknown {
  if (typeof value === 'string') return moves.reduce((text, move) => moveText(text, move), value);
  if (Array.isArray(value)) return value.map((one) => moveIn(one, moves));
  const record = asRecord(value);
  if (record === undefined || record.type === 'thinking' || record.type === 'redacted_thinking') return value;
  return Object.fromEntries(Object.entries(record).map(([key, one]) => [moveIn(key, moves), moveIn(one, moves)]));
}

/** Only whole names: `/a/b` is not in `/a/bc`. */
function moveText(text: string, [from, to]: Move): string {
  let moved = '';
  let rest = text;
  for (let at = rest.indexOf(from); at !== -1; at = rest.indexOf(from)) {
    const end = at + from.length;
    const goesOn = /^[\w.-]/.test(rest.slice(end, end + 1)) && !/^\.?$/.test(rest.slice(end));
    moved += rest.slice(0, at) + (goesOn ? from : to);
    rest = rest.slice(end);
  }
  return moved + rest;
}

function lastWorkingDirectory(transcript: Buffer): string | undefined {
  const lines = transcript.toString('utf8').split('\n');
  for (const line of lines.reverse()) {
    const cwd = line.includes('"cwd"') ? asString(asRecord(parseJson(line))?.cwd) : undefined;
    if (cwd !== undefined) return cwd;
  }
  return undefined;
}

async function conversationFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'))
    .map((entry) => join(entry.parentPath, entry.name));
}

async function moveFolder(from: string, to: string, claudeSessionId: string): Promise<void> {
  if (!(await isThere(to))) return rename(from, to);
  await mkdir(to, { recursive: true });
  const own = (await readdir(from)).filter((name) => name.startsWith(claudeSessionId));
  // The conversation itself last, for the same reason as above.
  for (const name of own.sort((a, b) => a.length - b.length)) await rename(join(from, name), join(to, name));
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
