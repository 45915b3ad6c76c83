// Files that a person gave with a prompt, put where the agent can read them, and named in the prompt's
// text: whichever way the words reach the model (a line, an edit, an answer in words), they name the
// files, and the agent's own read tool shows them. Putting a file in place again changes nothing.

import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Attachment, HostDesk, OutboxCommand } from '@engram/coordinator';
import type { Logger } from 'pino';

export interface FilePlace {
  readonly desk: Pick<HostDesk, 'readAttachment'>;
  readonly sessionId: string;
  /** HOME of the agent, as the agent sees it too. */
  readonly agentHome: string;
  readonly log: Logger;
}

const NAME_LENGTH = 80;

/** A file name of letters, digits, dot, dash and underscore that ends as the given one does. */
export function toFileName({ attachment_id, name }: Attachment): string {
  const plain = name
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .slice(-NAME_LENGTH)
    .replace(/^[._-]+/, '');
  // The beginning of the content's hash keeps two files of one name apart.
  return `${attachment_id.slice(0, 12)}-${plain === '' ? 'file' : plain}`;
}

/** Where a file is, or why it is nowhere. */
type Placed = { readonly of: Attachment } & ({ readonly path: string } | { readonly missing: string });

/** The prompt with what it was given with, as the agent reads it. The page takes this sentence off a summary again. */
export function withFileList(text: string, files: readonly Placed[]): string {
  const lines = files.map((file) =>
    'path' in file
      ? `- ${file.path} (${file.of.media_type}, ${file.of.size} bytes)`
      : `- ${toFileName(file.of)} could not be put on this machine (${file.missing}): say so to the user`,
  );
  return `${text}\n\nFiles that the user attached to this message; read them before you go on:\n${lines.join('\n')}`;
}

async function placeFile(of: Attachment, folder: string, place: FilePlace): Promise<Placed> {
  const path = join(folder, toFileName(of));
  const there = await stat(path).catch(() => undefined);
  if (there?.size === of.size) return { of, path };
  const stored = await place.desk.readAttachment(place.sessionId, of.attachment_id);
  if (stored === undefined) return { of, missing: 'it is not stored any more' };
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const part = `${path}.${process.pid}.part`;
    await writeFile(part, stored.bytes, { mode: 0o600 });
    await rename(part, path);
    return { of, path };
  } catch (error) {
    place.log.warn({ err: error }, 'a file of a prompt could not be put in place');
    return { of, missing: error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason' };
  }
}

/** Throws what the log's database throws; what the disk refuses is told to the agent in the prompt. */
export async function placeFiles(
  commands: readonly OutboxCommand[],
  place: FilePlace,
): Promise<readonly OutboxCommand[]> {
  if (commands.every(({ attachments }) => attachments === undefined)) return commands;
  const folder = join(place.agentHome, 'attachments');
  const placed: OutboxCommand[] = [];
  for (const each of commands) {
    const { command, attachments = [] } = each;
    if (attachments.length === 0 || (command.type !== 'prompt' && command.type !== 'edit_queued')) {
      placed.push(each);
      continue;
    }
    const files: Placed[] = [];
    for (const of of attachments) files.push(await placeFile(of, folder, place));
    placed.push({ ...each, command: { ...command, text: withFileList(command.text, files) } });
  }
  return placed;
}
