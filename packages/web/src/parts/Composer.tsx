// Where messages are written. A message stays in the field until the server has stored it; its id is
// made here, so sending it again after a lost reply is the same message. Drafts survive a reload.

import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react';
import { api, reasonOf, untilStored } from '../api-client.js';
import { newId } from '../new-id.js';
import type { QueuedPrompt } from '../prompt-queue.js';
import { words } from '../strings.js';
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
  /** The id belongs to one text: the same text again is the same message, another text is a new one. */
  const attempt = useRef({ text: '', id: '' });

  useEffect(() => {
    if (text === '') localStorage.removeItem(keyOf(sessionId));
    else localStorage.setItem(keyOf(sessionId), text);
  }, [text, sessionId]);
  useEffect(() => {
    if (!running) setStopping(false);
  }, [running]);

  const busy = sending.status === 'sending';

  async function send() {
    if (text.trim() === '' || busy) return;
    if (attempt.current.text !== text) attempt.current = { text, id: newId() };
    const { id } = attempt.current;
    setSending({ status: 'sending', retryMs: undefined });
    try {
      await untilStored(
        () => api.sendPrompt(sessionId, text, id),
        (retryMs) => setSending({ status: 'sending', retryMs }),
      );
      attempt.current = { text: '', id: '' };
      setText('');
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
    >
      <PromptQueue sessionId={sessionId} queue={queue} />
      <div className="border-strong bg-raised has-[textarea:focus-visible]:border-accent flex items-end gap-2 rounded-[6px] border p-1.5">
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
        />
        {running && (
          <button type="button" className="btn" disabled={stopping} onClick={() => void stop()}>
            {words.composer.stop}
          </button>
        )}
        <button type="submit" className="btn btn-main" disabled={busy || text.trim() === ''}>
          {words.composer.send}
        </button>
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
          (stopping ? words.composer.stopped : <span className="max-md:hidden">{words.composer.hint}</span>)}
      </p>
    </form>
  );
}
