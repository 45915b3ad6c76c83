// Messages that wait for the run that is open: shown, and changed or withdrawn while they wait.

import { useState } from 'react';
import { ApiError, api, reasonOf, untilStored } from '../api-client.js';
import type { QueuedPrompt } from '../prompt-queue.js';
import { words } from '../strings.js';
import { VisibleText } from './VisibleText.js';

interface Props {
  readonly sessionId: string;
  readonly queue: readonly QueuedPrompt[];
}

export function PromptQueue({ sessionId, queue }: Props) {
  if (queue.length === 0) return null;
  return (
    <div className="border-line rounded-[6px] border px-2 py-1">
      <p className="text-muted text-[12px]">{words.composer.queued(queue.length)}</p>
      <ul aria-label={words.composer.queueLabel}>
        {queue.map((prompt) => (
          <QueuedRow key={prompt.promptId} sessionId={sessionId} prompt={prompt} />
        ))}
      </ul>
    </div>
  );
}

function QueuedRow({ sessionId, prompt }: { readonly sessionId: string; readonly prompt: QueuedPrompt }) {
  const [editing, setEditing] = useState<string | undefined>();
  const [error, setError] = useState<string | undefined>();
  const [busy, setBusy] = useState(false);

  async function attempt(call: () => Promise<void>) {
    setBusy(true);
    setError(undefined);
    try {
      await untilStored(call);
      setEditing(undefined);
    } catch (cause) {
      const late = cause instanceof ApiError && cause.code === 'prompt_not_queued';
      setError(late ? words.composer.notQueued : reasonOf(cause));
    } finally {
      setBusy(false);
    }
  }

  const save = () => attempt(() => api.editPrompt(sessionId, prompt.promptId, editing ?? prompt.text));
  return (
    <li className="border-line py-0.5 not-first:border-t">
      {editing === undefined ? (
        <div className="flex items-center gap-1">
          <span className="min-w-0 grow truncate">
            <VisibleText text={prompt.text} />
          </span>
          {prompt.files > 0 && <span className="chip shrink-0">{words.files.count(prompt.files)}</span>}
          <button
            type="button"
            className="btn btn-quiet min-h-6! px-1.5! text-[12px]"
            aria-label={words.composer.edit}
            disabled={busy}
            onClick={() => setEditing(prompt.text)}
          >
            {words.editShort}
          </button>
          <button
            type="button"
            className="btn btn-quiet min-h-6! px-1.5! text-[12px]"
            aria-label={words.composer.withdraw}
            disabled={busy}
            onClick={() => void attempt(() => api.withdrawPrompt(sessionId, prompt.promptId))}
          >
            {words.withdrawShort}
          </button>
        </div>
      ) : (
        <div className="flex items-end gap-1">
          <textarea
            // biome-ignore lint/a11y/noAutofocus: the field replaces the text the person asked to edit
            autoFocus
            rows={1}
            className="field field-sizing-content resize-none"
            aria-label={words.composer.editField}
            value={editing}
            onChange={(event) => setEditing(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === 'Escape') setEditing(undefined);
              if (event.key === 'Enter' && !event.shiftKey) {
                event.preventDefault();
                void save();
              }
            }}
          />
          <button type="button" className="btn" disabled={busy || editing.trim() === ''} onClick={() => void save()}>
            {words.composer.save}
          </button>
          <button type="button" className="btn btn-quiet" onClick={() => setEditing(undefined)}>
            {words.cancel}
          </button>
        </div>
      )}
      {error !== undefined && (
        <p role="alert" className="text-danger text-[12px]">
          {error}
        </p>
      )}
    </li>
  );
}
