// Images that a tool gives back. The log tells a reference; the bytes are kept as a file of the
// session's state until the host has stored them (docs/adr/0020).

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ResultImage } from '@engram/harness-proto';
import type { ClaudeMessage, InlineImage } from './claude-message.js';

/** As much as the store takes of one file. */
const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
/** Of one result; the rest is named in its text alone. */
const MAX_IMAGES = 8;

interface KeptImage extends ResultImage {
  readonly bytes: Uint8Array;
}

function toImage({ media_type, data }: InlineImage): KeptImage {
  const bytes = Buffer.from(data, 'base64');
  return { attachment_id: createHash('sha256').update(bytes).digest('hex'), media_type, size: bytes.length, bytes };
}

function keptImages(images: readonly InlineImage[]): readonly KeptImage[] {
  return images
    .slice(0, MAX_IMAGES)
    .map(toImage)
    .filter(({ size }) => size > 0 && size <= MAX_IMAGE_BYTES);
}

/** What the log says of them. Pure. */
export function toReferences(images: readonly InlineImage[]): readonly ResultImage[] {
  return keptImages(images).map(({ attachment_id, media_type, size }) => ({ attachment_id, media_type, size }));
}

/** Where the host looks for the bytes of a reference. */
export function imageFolder(stateDir: string): string {
  return join(stateDir, 'images');
}

/** Keeps the images of a message's results before anything is told of them. Throws what the disk throws. */
export function keepImages(message: ClaudeMessage, stateDir: string): void {
  if (message.type !== 'user') return;
  for (const block of message.blocks) {
    if (block.type !== 'tool_result' || block.images === undefined) continue;
    for (const { attachment_id, bytes } of keptImages(block.images)) {
      const folder = imageFolder(stateDir);
      const path = join(folder, attachment_id);
      if (existsSync(path)) continue;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeFileSync(`${path}.part`, bytes, { mode: 0o600 });
      renameSync(`${path}.part`, path);
    }
  }
}
