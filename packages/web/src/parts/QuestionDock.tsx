// The place above the composer where open questions are answered. It remembers what was being typed
// here: when somebody else closes the card first, it says so and shows both.

import { useCallback, useEffect, useRef, useState } from 'react';
import { type Draft, isTouched, saveDraft, valuesOf, wordAnswers } from '../answer-draft.js';
import { isClosed, type QuestionCard } from '../question-cards.js';
import { words } from '../strings.js';
import { outcomeWords } from './ClosedQuestion.js';
import { QuestionForm } from './QuestionForm.js';
import { ReadOnlyQuestion } from './ReadOnlyQuestion.js';
import { VisibleText } from './VisibleText.js';

interface Overtaken {
  readonly toolCallId: string;
  readonly draft: string;
}

interface Props {
  readonly sessionId: string;
  readonly owner: string;
  readonly awake: boolean;
  /** Somebody else's session: shown, not answered. */
  readonly readOnly: boolean;
  readonly cards: ReadonlyMap<string, QuestionCard>;
  readonly openCards: readonly QuestionCard[];
  readonly onReplyInWords: () => void;
}

function draftWords(draft: Draft): string {
  return wordAnswers(Object.fromEntries(draft.map((part, at) => [String(at), valuesOf(part)])));
}

export function QuestionDock({ sessionId, owner, awake, readOnly, cards, openCards, onReplyInWords }: Props) {
  const drafts = useRef(new Map<string, Draft>());
  const submitted = useRef(new Set<string>());
  const [overtaken, setOvertaken] = useState<readonly Overtaken[]>([]);

  const noticeOvertaken = useCallback(() => {
    for (const [toolCallId, draft] of drafts.current) {
      const status = cards.get(toolCallId)?.state.status;
      if (submitted.current.has(toolCallId) || (status !== 'sent' && status !== 'answered')) continue;
      drafts.current.delete(toolCallId);
      saveDraft(sessionId, toolCallId, undefined);
      if (isTouched(draft)) setOvertaken((known) => [...known, { toolCallId, draft: draftWords(draft) }]);
    }
  }, [cards, sessionId]);
  useEffect(noticeOvertaken, [noticeOvertaken]);

  function onSubmitted(toolCallId: string, taken: boolean) {
    if (taken) submitted.current.add(toolCallId);
    else submitted.current.delete(toolCallId);
    if (!taken) noticeOvertaken();
  }

  const answerable = openCards.filter((card) => card.state.status !== 'sent' || submitted.current.has(card.toolCallId));
  const sentElsewhere = openCards.filter((card) => !answerable.includes(card));
  return (
    <div className="flex flex-col gap-2">
      {overtaken.map(({ toolCallId, draft }) => {
        const card = cards.get(toolCallId);
        return (
          <div key={toolCallId} role="alert" className="border-line bg-raised rounded-[6px] border px-3 py-2">
            <p className="font-semibold">{words.question.elsewhere}</p>
            {card !== undefined && (
              <p>
                <VisibleText
                  text={card.state.status === 'sent' ? wordAnswers(card.state.answers) : outcomeWords(card, owner)}
                />
              </p>
            )}
            <p className="text-muted">
              {words.question.yourDraft} <VisibleText text={draft} />
            </p>
            <button
              type="button"
              className="btn mt-1"
              onClick={() => setOvertaken((known) => known.filter((item) => item.toolCallId !== toolCallId))}
            >
              {words.close}
            </button>
          </div>
        );
      })}
      {sentElsewhere.map((card) => (
        <p key={card.toolCallId} role="status" className="text-muted px-1">
          {outcomeWords(card, owner)}
        </p>
      ))}
      {answerable.map((card, at) =>
        isClosed(card) ? null : readOnly ? (
          <ReadOnlyQuestion key={card.toolCallId} card={card} />
        ) : (
          <QuestionForm
            key={card.toolCallId}
            sessionId={sessionId}
            card={card}
            awake={awake}
            hasKeys={at === 0}
            onReplyInWords={onReplyInWords}
            onDraft={(id, draft) => drafts.current.set(id, draft)}
            onSubmitted={onSubmitted}
          />
        ),
      )}
    </div>
  );
}
