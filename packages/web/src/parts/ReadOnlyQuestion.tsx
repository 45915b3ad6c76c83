// An open question for somebody who may read it and not answer: what is asked, what can be chosen,
// and who it waits for. Nothing here can be pressed.

import type { QuestionCard } from '../question-cards.js';
import { words } from '../strings.js';
import { VisibleText } from './VisibleText.js';

export function ReadOnlyQuestion({ card }: { readonly card: QuestionCard }) {
  const [first] = card.questions;
  const name = first === undefined || first.header === '' ? (first?.question ?? '') : first.header;
  return (
    <section
      aria-label={words.question.region(name)}
      className="border-waiting-mark bg-raised scroll-y flex max-h-[min(60dvh,560px)] flex-col gap-2 rounded-[6px] border px-3 py-2"
    >
      {card.questions.map(({ question, options }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the questions of a card never move
        <div key={at}>
          <p className="font-semibold">
            <VisibleText text={question} />
          </p>
          <ul>
            {options.map(({ label, description }, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the options of a question never move
              <li key={place} className="flex gap-3">
                <VisibleText text={label} />
                <span className="text-muted">
                  <VisibleText text={description} />
                </span>
              </li>
            ))}
          </ul>
        </div>
      ))}
      <p className="text-muted text-[12px]">{words.question.ownerOnly}</p>
    </section>
  );
}
