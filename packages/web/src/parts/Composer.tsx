// Where messages are written. A message stays in the field until the server has stored it; its id is
// made here, so sending it again after a lost reply is the same message. Drafts survive a reload.

import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react';
import { api, reasonOf, untilStored } from '../api-client.js';
import { useAttachedFiles } from '../attached-files.js';
import { newId } from '../new-id.js';
import type { QueuedPrompt } from '../prompt-queue.js';
import { words } from '../strings.js';
import { ChosenFiles } from './ChosenFiles.js';
import { Icon } from './Icon.js';
import { PromptQueue } from './PromptQueue.js';

interface Props {
  readonly sessionId: string;
  readonly running: boolean;
  readonly waiting: boolean;
  readonly queue: readonly QueuedPrompt[];
  readonly onSent: () => void;
  readonly field: RefObject<HTMLTextAreaElement | null>;
}

type Sending =
  | { readonly status: 'idle' }
  | { readonly status: 'sending'; readonly retryMs: number | undefined }
  | { readonly status: 'failed'; readonly why: string };

const keyOf = (sessionId: string) => `engram.message.${sessionId}`;

export function Composer({ sessionId, running, waiting, queue, onSent, field }: Props) {
  const [text, setText] = useState(() => localStorage.getItem(keyOf(sessionId)) ?? '');
  const [sending, setSending] = useState<Sending>({ status: 'idle' });
  const [stopping, setStopping] = useState(false);
  /** The id belongs to one text with its files: the same again is the same message, anything else a new one. */
  const attempt = useRef({ text: '', id: '' });
  const attached = useAttachedFiles(sessionId);
  const picker = useRef<HTMLInputElement>(null);
  const [dropping, setDropping] = useState(false);

  useEffect(() => {
    if (text === '') localStorage.removeItem(keyOf(sessionId));
    else localStorage.setItem(keyOf(sessionId), text);
  }, [text, sessionId]);
  useEffect(() => {
    if (!running) setStopping(false);
  }, [running]);

  const busy = sending.status === 'sending';

  async function send() {
    if (text.trim() === '' || busy || !attached.ready) return;
    const files = attached.files.flatMap((file) => (file.status === 'stored' ? [file.attachment] : []));
    const said = JSON.stringify([text, files.map((file) => file.attachment_id)]);
    if (attempt.current.text !== said) attempt.current = { text: said, id: newId() };
    const { id } = attempt.current;
    setSending({ status: 'sending', retryMs: undefined });
    try {
      await untilStored(
        () => api.sendPrompt(sessionId, text, id, files),
        (retryMs) => setSending({ status: 'sending', retryMs }),
      );
      attempt.current = { text: '', id: '' };
      setText('');
      attached.clear();
      setSending({ status: 'idle' });
      onSent();
      requestAnimationFrame(() => field.current?.focus());
    } catch (error) {
      setSending({ status: 'failed', why: reasonOf(error) });
    }
  }

  async function stop() {
    setStopping(true);
    try {
      await untilStored(() => api.interrupt(sessionId));
    } catch (error) {
      setStopping(false);
      setSending({ status: 'failed', why: reasonOf(error) });
    }
  }

  function onKey(event: KeyboardEvent<HTMLTextAreaElement>) {
    if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      void send();
    }
    if (event.key === 'Escape') event.currentTarget.blur();
  }

  return (
    <form
      className="flex flex-col gap-1"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        setDropping(true);
      }}
      onDragLeave={() => setDropping(false)}
      onDrop={(event) => {
        setDropping(false);
        if (event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        attached.add([...event.dataTransfer.files]);
      }}
    >
      <PromptQueue sessionId={sessionId} queue={queue} />
      <div
        data-dropping={dropping || undefined}
        className="data-dropping:border-accent border-strong bg-raised has-[textarea:focus-visible]:border-accent rounded-[6px] border p-1.5"
      >
        <ChosenFiles files={attached.files} disabled={busy} onRemove={attached.remove} />
        <div className="flex items-end gap-2">
          <textarea
            ref={field}
            rows={1}
            aria-label={words.composer.message}
            placeholder={waiting ? words.composer.placeholderWaiting : words.composer.placeholder}
            className="field-sizing-content max-h-[40dvh] pointer-coarse:min-h-9 pointer-coarse:py-2 min-h-7 min-w-0 grow resize-none bg-transparent px-1.5 py-1 outline-none!"
            value={text}
            readOnly={busy}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={onKey}
            onPaste={(event) => {
              const files = [...event.clipboardData.files];
              if (files.length === 0) return;
              event.preventDefault();
              attached.add(files);
            }}
          />
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            onChange={(event) => {
              attached.add([...(event.target.files ?? [])]);
              event.target.value = '';
            }}
          />
          <button
            type="button"
            className="btn btn-quiet px-1.5!"
            aria-label={words.files.attach}
            title={words.files.attach}
            disabled={busy}
            onClick={() => picker.current?.click()}
          >
            <Icon name="clip" />
          </button>
          {running && (
            <button type="button" className="btn" disabled={stopping} onClick={() => void stop()}>
              {words.composer.stop}
            </button>
          )}
          <button type="submit" className="btn btn-main" disabled={busy || text.trim() === '' || !attached.ready}>
            {words.composer.send}
          </button>
        </div>
      </div>
      <p role="status" className="text-muted min-h-4 text-[12px] leading-4">
        {sending.status === 'sending' &&
          (sending.retryMs === undefined
            ? words.composer.sending
            : words.question.sendingRetry(Math.ceil(sending.retryMs / 1000)))}
        {sending.status === 'failed' && (
          <span className="text-danger">
            {words.question.unsent(sending.why)}{' '}
            <button type="button" className="underline" onClick={() => void send()}>
              {words.retry}
            </button>
          </span>
        )}
        {sending.status === 'idle' &&
          (stopping ? (
            words.composer.stopped
          ) : dropping ? (
            words.files.drop
          ) : (
            <span className="max-md:hidden">{words.composer.hint}</span>
          ))}
      </p>
    </form>
  );
}
