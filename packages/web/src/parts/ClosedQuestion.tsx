// A question in the flow of the conversation: what was asked and what became of it.

import { wordAnswers } from '../answer-draft.js';
import type { Actor } from '../api-types.js';
import { clockTime, exactTime } from '../format.js';
import type { QuestionCard } from '../question-cards.js';
import { words } from '../strings.js';
import { VisibleText } from './VisibleText.js';

export function nameOfActor(actor: Actor | undefined, owner: string): string | undefined {
  if (actor === undefined) return undefined;
  return actor.id === owner ? words.you : actor.name;
}

/** "Answered by you, 14:03: PostgreSQL", "Declined", … */
export function outcomeWords({ state }: QuestionCard, owner: string, withAnswers = true): string {
  switch (state.status) {
    case 'waiting':
    case 'failed':
      return words.question.open;
    case 'sent': {
      const who = nameOfActor(state.by, owner);
      return who === undefined || who === words.you ? words.question.sent : words.question.sentBy(who);
    }
    case 'answered': {
      const who = nameOfActor(state.by, owner);
      const what = withAnswers ? wordAnswers(state.answers) : '';
      const time = clockTime(state.at);
      return who === undefined ? words.question.answered(time, what) : words.question.answeredBy(who, time, what);
    }
    case 'dismissed':
      return dismissalWords(state.reason);
  }
}

function dismissalWords(reason: string): string {
  switch (reason) {
    case 'superseded':
      return words.question.superseded;
    case 'declined':
    case '':
      return words.question.declined;
    case 'interrupted':
      return words.question.interrupted;
    case 'withdrawn':
      return words.question.withdrawn;
    default:
      return words.question.declinedWith(reason);
  }
}

export function ClosedQuestion({ card, owner }: { readonly card: QuestionCard; readonly owner: string }) {
  const { state, questions } = card;
  const answers = state.status === 'answered' || state.status === 'sent' ? state.answers : undefined;
  // With several questions each shows its own answer, so the outcome need not say them again.
  const outcome = outcomeWords(card, owner, questions.length <= 1);
  const at = state.status === 'answered' || state.status === 'dismissed' ? exactTime(state.at) : undefined;
  return (
    <div role="group" aria-label={words.question.asked} className="border-waiting-mark my-1 border-l-2 pl-3">
      {questions.length === 0 && <p className="text-muted">{words.question.unknownQuestion}</p>}
      {questions.map((question, at) => {
        const values = answers?.[question.question];
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the questions of a card never move
          <p key={at}>
            <span className="font-semibold">
              <VisibleText text={question.question} />
            </span>
            {questions.length > 1 && values !== undefined && (
              <span className="text-muted">
                {' '}
                <VisibleText text={wordAnswers({ '': values })} />
              </span>
            )}
          </p>
        );
      })}
      <p className="text-muted" title={at}>
        <VisibleText text={outcome} />
      </p>
    </div>
  );
}
