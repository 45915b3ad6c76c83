// The choices of one question: radios or checkboxes, "Something else…" with a field of its own, and
// previews as inert text. Native inputs, so arrows, Space and screen readers work as everywhere.

import { type KeyboardEvent, useEffect, useId, useRef } from 'react';
import { chooseOption, type DraftPart, toggleOther } from '../answer-draft.js';
import { words } from '../strings.js';
import type { Question } from '../wire-types.js';
import { VisibleText } from './VisibleText.js';

interface Props {
  readonly question: Question;
  readonly previews: readonly string[];
  readonly part: DraftPart;
  readonly disabled: boolean;
  readonly onChange: (part: DraftPart) => void;
  readonly onSubmit: () => void;
}

interface ChoiceProps {
  readonly type: 'radio' | 'checkbox';
  readonly name: string;
  readonly shortcut: string;
  readonly label: string;
  readonly description: string;
  readonly checked: boolean;
  readonly disabled: boolean;
  readonly onChoose: () => void;
}

function Choice({ type, name, shortcut, label, description, checked, disabled, onChoose }: ChoiceProps) {
  const id = useId();
  return (
    <label className="hover:bg-hover has-checked:bg-hover flex items-baseline gap-2 rounded px-2 py-2.5 md:py-1">
      <input
        type={type}
        name={name}
        checked={checked}
        disabled={disabled}
        onChange={onChoose}
        aria-labelledby={`${id}l`}
        aria-describedby={description === '' ? undefined : `${id}d`}
        className="accent-(--accent) relative top-0.5 shrink-0"
      />
      <kbd aria-hidden className="text-muted w-3 shrink-0 text-center max-md:hidden">
        {shortcut}
      </kbd>
      <span className="flex min-w-0 flex-wrap gap-x-3">
        <span id={`${id}l`} className="font-semibold">
          <VisibleText text={label} />
        </span>
        {description !== '' && (
          <span id={`${id}d`} className="text-muted">
            <VisibleText text={description} />
          </span>
        )}
      </span>
    </label>
  );
}

export function QuestionOptions({ question, previews, part, disabled, onChange, onSubmit }: Props) {
  const name = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const type = question.multi_select ? 'checkbox' : 'radio';
  const wasOn = useRef(part.otherOn);

  useEffect(() => {
    if (part.otherOn && !wasOn.current) field.current?.focus();
    wasOn.current = part.otherOn;
  }, [part.otherOn]);

  function onFieldKey(event: KeyboardEvent<HTMLTextAreaElement>) {
    if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      onSubmit();
    }
    if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      event.currentTarget.closest('section')?.focus();
    }
  }

  return (
    <fieldset className="min-w-0" role={question.multi_select ? 'group' : 'radiogroup'} aria-labelledby={`${name}q`}>
      <legend id={`${name}q`} className="px-2 pb-1 font-semibold">
        <VisibleText text={question.question} />
      </legend>
      {question.multi_select && <p className="text-muted px-2 pb-1 text-[12px]">{words.question.pickAny}</p>}
      {question.options.map((option, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the options of a question never move
        <div key={at}>
          <Choice
            type={type}
            name={name}
            shortcut={at < 9 ? String(at + 1) : ''}
            label={option.label}
            description={option.description}
            checked={part.chosen.includes(option.label)}
            disabled={disabled}
            onChoose={() => onChange(chooseOption(part, question, option.label))}
          />
          {previews[at] !== undefined && previews[at] !== '' && (
            <details className="px-9 pb-1">
              <summary className="text-muted text-[12px]">{words.question.preview(option.label)}</summary>
              <pre className="scroll-y bg-code max-h-48 overflow-x-auto rounded px-2 py-1">
                <VisibleText text={previews[at]} />
              </pre>
            </details>
          )}
        </div>
      ))}
      <Choice
        type={type}
        name={name}
        shortcut="o"
        label={words.question.somethingElse}
        description=""
        checked={part.otherOn}
        disabled={disabled}
        onChoose={() => onChange(toggleOther(part, question, question.multi_select ? !part.otherOn : true))}
      />
      {part.otherOn && (
        <div className="px-2 pb-1 pl-9">
          <textarea
            ref={field}
            rows={1}
            className="field field-sizing-content max-h-40 resize-none"
            aria-label={words.question.ownAnswer}
            value={part.other}
            disabled={disabled}
            onChange={(event) => onChange({ ...part, other: event.target.value })}
            onKeyDown={onFieldKey}
          />
        </div>
      )}
    </fieldset>
  );
}
