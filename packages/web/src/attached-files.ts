// Files that are to go with the next message of one session. Each is uploaded as soon as it is chosen,
// so that sending is only the message; what is stored is remembered over a reload, like the draft.

import { useState } from 'react';
import { api, reasonOf, untilStored } from './api-client.js';
import type { Attachment } from './api-types.js';
import { newId } from './new-id.js';
import { isJsonObject } from './parse-event.js';
import { words } from './strings.js';

export const MAX_FILE_BYTES = 5 * 1024 * 1024;
export const MAX_FILES = 10;

export type AttachedFile = { readonly key: string; readonly name: string; readonly size: number } & (
  | { readonly status: 'uploading' }
  | { readonly status: 'stored'; readonly attachment: Attachment }
  | { readonly status: 'failed'; readonly why: string }
);

/** One line without control characters, as the server takes it; what is pasted has no name of its own. */
export function fileLabel(name: string): string {
  const line = name
    .replace(/[\p{Cc}\p{Surrogate}\u2028\u2029]/gu, ' ')
    .trim()
    .slice(0, 200);
  return line === '' ? words.files.unnamed : line;
}

/** Why a file is not taken, before anything is sent. */
export function refusalOf(size: number, already: number): string | undefined {
  if (already >= MAX_FILES) return words.files.tooMany(MAX_FILES);
  if (size === 0) return words.files.empty;
  return size > MAX_FILE_BYTES ? words.files.tooLarge : undefined;
}

function isAttachment(value: unknown): value is Attachment {
  return (
    isJsonObject(value) &&
    typeof value.attachment_id === 'string' &&
    typeof value.name === 'string' &&
    typeof value.media_type === 'string' &&
    typeof value.size === 'number'
  );
}

const keyOf = (sessionId: string) => `engram.files.${sessionId}`;

function load(sessionId: string): readonly AttachedFile[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(keyOf(sessionId)) ?? '');
    const kept = Array.isArray(value) ? value.filter(isAttachment) : [];
    return kept.map((attachment) => {
      const { attachment_id: key, name, size } = attachment;
      return { key, name, size, status: 'stored', attachment } as const;
    });
  } catch {
    return [];
  }
}

function save(sessionId: string, files: readonly AttachedFile[]): void {
  const stored = files.flatMap((file) => (file.status === 'stored' ? [file.attachment] : []));
  if (stored.length === 0) localStorage.removeItem(keyOf(sessionId));
  else localStorage.setItem(keyOf(sessionId), JSON.stringify(stored));
}

export interface AttachedFiles {
  readonly files: readonly AttachedFile[];
  /** Nothing is on its way and nothing failed: the message may be sent. */
  readonly ready: boolean;
  add(chosen: readonly File[]): void;
  remove(key: string): void;
  clear(): void;
}

export function useAttachedFiles(sessionId: string): AttachedFiles {
  const [files, setFiles] = useState(() => load(sessionId));

  function change(make: (known: readonly AttachedFile[]) => readonly AttachedFile[]): void {
    setFiles((known) => {
      const next = make(known);
      save(sessionId, next);
      return next;
    });
  }

  async function upload(key: string, name: string, file: File): Promise<void> {
    const settle = (end: { status: 'stored'; attachment: Attachment } | { status: 'failed'; why: string }) =>
      change((known) => known.map((each) => (each.key === key ? { key, name, size: file.size, ...end } : each)));
    try {
      const info = await untilStored(() => api.uploadAttachment(sessionId, file));
      settle({ status: 'stored', attachment: { ...info, name } });
    } catch (error) {
      settle({ status: 'failed', why: reasonOf(error) });
    }
  }

  return {
    files,
    ready: files.every(({ status }) => status === 'stored'),
    add(chosen) {
      const taken = chosen.map((file, at) => {
        const why = refusalOf(file.size, files.length + at);
        const common = { key: newId(), name: fileLabel(file.name), size: file.size };
        return {
          file,
          entry:
            why === undefined
              ? { ...common, status: 'uploading' as const }
              : { ...common, status: 'failed' as const, why },
        };
      });
      change((known) => [...known, ...taken.map(({ entry }) => entry)]);
      for (const { file, entry } of taken) {
        if (entry.status === 'uploading') void upload(entry.key, entry.name, file);
      }
    },
    remove: (key) => change((known) => known.filter((file) => file.key !== key)),
    clear: () => change(() => []),
  };
}
