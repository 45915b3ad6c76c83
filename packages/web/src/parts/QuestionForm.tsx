// An open question: its steps, its choices, and what became of the answer that was sent from here.
// The card says "sending" until the server has stored the answer; sending again is always safe,
// because the same answer to the same call is one effect.

import { useCallback, useEffect, useRef, useState } from 'react';
import {
  type Draft,
  draftOfAnswers,
  isAnswered,
  isTouched,
  loadDraft,
  saveDraft,
  toAnswers,
  wordAnswers,
} from '../answer-draft.js';
import { ApiError, api, reasonOf, untilStored } from '../api-client.js';
import { hasEqualQuestions, type QuestionCard } from '../question-cards.js';
import { onNavigate } from '../route.js';
import { words } from '../strings.js';
import { useCardKeys } from '../use-card-keys.js';
import { QuestionOptions } from './QuestionOptions.js';
import { VisibleText } from './VisibleText.js';

/** While somebody works on the card, the server is told again this often; it holds for two minutes. */
const ATTEND_EVERY_MS = 30_000;

type Phase =
  | { readonly status: 'editing' }
  | { readonly status: 'sending'; readonly retryMs: number | undefined }
  | { readonly status: 'stored' }
  | { readonly status: 'refused'; readonly message: string; readonly canRetry: boolean };

function refusalOf(error: unknown): Phase {
  if (error instanceof ApiError && error.code === 'question_closed') {
    return { status: 'refused', message: words.question.closed, canRetry: false };
  }
  if (error instanceof ApiError && error.status === 404) {
    return { status: 'refused', message: words.question.gone, canRetry: false };
  }
  return { status: 'refused', message: words.question.unsent(reasonOf(error)), canRetry: true };
}

interface Props {
  readonly sessionId: string;
  readonly card: QuestionCard;
  /** An agent process is there and holds for the answer. */
  readonly awake: boolean;
  /** The one card that the keyboard answers. */
  readonly hasKeys: boolean;
  readonly onReplyInWords: () => void;
  /** Tells what is being typed here, so that the view can say when somebody else was faster. */
  readonly onDraft: (toolCallId: string, draft: Draft) => void;
  /** `false` takes it back: the server did not take the answer. */
  readonly onSubmitted: (toolCallId: string, taken: boolean) => void;
}

/** What was typed here before; else, after a failed delivery, the answer that is to be sent again. */
function firstDraft(sessionId: string, { toolCallId, questions, state }: QuestionCard): Draft {
  const kept = loadDraft(sessionId, toolCallId, questions);
  const again = state.status === 'failed' ? state.answers : undefined;
  return isTouched(kept) || again === undefined ? kept : draftOfAnswers(again, questions);
}

export function QuestionForm({ sessionId, card, awake, hasKeys, onReplyInWords, onDraft, onSubmitted }: Props) {
  const { questions, toolCallId } = card;
  const [draft, setDraft] = useState<Draft>(() => firstDraft(sessionId, card));
  const [step, setStep] = useState(0);
  const [phase, setPhase] = useState<Phase>({ status: 'editing' });
  const attendedAt = useRef(0);
  const section = useRef<HTMLElement>(null);

  const question = questions[Math.min(step, questions.length - 1)];
  const part = draft[Math.min(step, questions.length - 1)];
  const equal = hasEqualQuestions(card);
  const answers = toAnswers(draft, questions);
  const last = step >= questions.length - 1;
  const stepDone = question !== undefined && part !== undefined && isAnswered(part, question);
  const failed = card.state.status === 'failed' && phase.status !== 'sending';
  const busy = phase.status === 'sending' || (phase.status === 'stored' && !failed);

  const attend = useCallback(() => {
    const now = Date.now();
    if (now - attendedAt.current < ATTEND_EVERY_MS) return;
    attendedAt.current = now;
    // Only a head start for the agent; without it the answer works just the same, a little later.
    api.attend(sessionId, toolCallId).catch(() => undefined);
  }, [sessionId, toolCallId]);

  function change(at: number, next: Draft[number]) {
    const made = draft.with(at, next);
    setDraft(made);
    saveDraft(sessionId, toolCallId, made);
    onDraft(toolCallId, made);
    attend();
  }

  async function submit() {
    if (busy || equal) return;
    if (!last && stepDone) return setStep(step + 1);
    if (answers === undefined) {
      const missing = questions.findIndex((q, at) => {
        const known = draft[at];
        return known === undefined || !isAnswered(known, q);
      });
      return setStep(Math.max(0, missing));
    }
    setPhase({ status: 'sending', retryMs: undefined });
    onSubmitted(toolCallId, true);
    try {
      await untilStored(
        () => api.answer(sessionId, toolCallId, answers),
        (retryMs) => setPhase({ status: 'sending', retryMs }),
      );
      saveDraft(sessionId, toolCallId, undefined);
      setPhase({ status: 'stored' });
    } catch (error) {
      setPhase(refusalOf(error));
      onSubmitted(toolCallId, false);
    }
  }

  async function decline() {
    setPhase({ status: 'sending', retryMs: undefined });
    onSubmitted(toolCallId, true);
    try {
      await untilStored(
        () => api.dismiss(sessionId, toolCallId),
        (retryMs) => setPhase({ status: 'sending', retryMs }),
      );
      saveDraft(sessionId, toolCallId, undefined);
      setPhase({ status: 'stored' });
    } catch (error) {
      setPhase(refusalOf(error));
      onSubmitted(toolCallId, false);
    }
  }

  useCardKeys(hasKeys && !busy && !equal, section, {
    question,
    part,
    onPart: (next) => change(step, next),
    onSubmit: () => void submit(),
  });

  useEffect(() => {
    if (!hasKeys) return;
    const focusIfMeant = () => {
      if (location.hash === '#question') section.current?.focus();
    };
    focusIfMeant();
    return onNavigate(focusIfMeant);
  }, [hasKeys]);

  if (question === undefined || part === undefined) return null;
  return (
    <section
      ref={section}
      tabIndex={-1}
      aria-label={words.question.region(question.header === '' ? question.question : question.header)}
      className="border-waiting-mark bg-raised flex max-h-[min(60dvh,560px)] flex-col rounded-[6px] border"
      onPointerDown={attend}
      onKeyDown={attend}
    >
      <header className="border-line bg-waiting-soft flex items-center justify-between gap-3 rounded-t-[5px] border-b px-3 py-1">
        <span className="text-waiting min-w-0 truncate font-semibold">
          <VisibleText text={question.header === '' ? words.groups.waiting : question.header} />
        </span>
        {questions.length > 1 && !equal && (
          <span className="text-muted flex shrink-0 items-center gap-1.5 text-[12px]">
            {questions.map((q, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the questions of a card never move
              <span key={at} aria-hidden className={at === step ? 'text-text font-semibold' : undefined}>
                {draft[at] !== undefined && isAnswered(draft[at], q) ? '✓' : '○'}
              </span>
            ))}
            {words.question.step(step + 1, questions.length)}
          </span>
        )}
      </header>
      <div className="scroll-y min-h-0 grow px-1 py-2">
        {equal ? (
          <EqualQuestions questions={questions} />
        ) : (
          <QuestionOptions
            key={step}
            question={question}
            previews={card.previews[step] ?? []}
            part={part}
            disabled={busy}
            onChange={(next) => change(step, next)}
            onSubmit={() => void submit()}
          />
        )}
      </div>
      <footer className="border-line flex flex-wrap items-center gap-2 border-t px-3 py-2">
        {!equal && step > 0 && (
          <button type="button" className="btn" disabled={busy} onClick={() => setStep(step - 1)}>
            {words.question.back}
          </button>
        )}
        {!equal && (
          <button
            type="button"
            className="btn btn-main"
            disabled={busy || (last ? answers === undefined : !stepDone)}
            onClick={() => void submit()}
          >
            {!last ? words.question.next : failed ? words.question.sendAgain : words.question.answer}
            <span aria-hidden>↵</span>
          </button>
        )}
        <button type="button" className="btn btn-quiet" disabled={busy} onClick={onReplyInWords}>
          {words.question.inWords}
        </button>
        <button type="button" className="btn btn-quiet" disabled={busy} onClick={() => void decline()}>
          {words.question.decline}
        </button>
        <span role="status" className="text-muted ml-auto text-[12px]">
          <PhaseWords phase={phase} failed={failed} awake={awake} card={card} />
        </span>
      </footer>
    </section>
  );
}

/** Shown, not answerable: what was asked and what could be chosen. */
function EqualQuestions({ questions }: { readonly questions: QuestionCard['questions'] }) {
  return (
    <div className="flex flex-col gap-2 px-2">
      <p>{words.question.equal}</p>
      {questions.map(({ question, options }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the questions of a card never move
        <p key={at}>
          <span className="font-semibold">
            <VisibleText text={question} />
          </span>{' '}
          <span className="text-muted">
            <VisibleText text={options.map(({ label }) => label).join(' · ')} />
          </span>
        </p>
      ))}
    </div>
  );
}

interface PhaseProps {
  readonly phase: Phase;
  readonly failed: boolean;
  readonly awake: boolean;
  readonly card: QuestionCard;
}

function PhaseWords({ phase, failed, awake, card }: PhaseProps) {
  switch (phase.status) {
    case 'sending':
      return phase.retryMs === undefined
        ? words.question.sending
        : words.question.sendingRetry(Math.ceil(phase.retryMs / 1000));
    case 'refused':
      return <span className="text-danger">{phase.message}</span>;
    case 'stored':
      if (!failed) return words.question.sent;
      break;
    case 'editing':
      break;
  }
  if (!failed || card.state.status !== 'failed') return awake ? words.question.awake : words.question.sleeps;
  const { answers, message } = card.state;
  return (
    <span className="text-danger" title={message}>
      {words.question.failed} {answers !== undefined && <>({wordAnswers(answers)}) </>}
      {words.question.failedHint}
    </span>
  );
}
