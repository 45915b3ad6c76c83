import { describe, expect, it } from 'vitest';
import {
  chooseOption,
  draftOfAnswers,
  emptyDraft,
  isAnswered,
  parseDraft,
  toAnswers,
  toggleOther,
  wordAnswers,
} from '../src/answer-draft.js';
import { choice } from './log-of.js';

const single = choice('Which database?', ['PostgreSQL', 'SQLite']);
const multi = choice('Which checks?', ['Yes, always', 'Yes', 'always'], true);
const [empty] = emptyDraft([single]);
if (empty === undefined) throw new Error('no draft');

describe('answer draft', () => {
  it('holds one choice for a single question, and a choice replaces free text', () => {
    const typed = { ...toggleOther(empty, single, true), other: 'DuckDB' };
    expect(toAnswers([typed], [single])).toEqual({ 'Which database?': ['DuckDB'] });
    const chosen = chooseOption(typed, single, 'SQLite');
    expect(toAnswers([chosen], [single])).toEqual({ 'Which database?': ['SQLite'] });
  });

  it('holds several choices, in the order of the options, and free text beside them', () => {
    let part = chooseOption(chooseOption(empty, multi, 'Yes'), multi, 'Yes, always');
    part = { ...toggleOther(part, multi, true), other: 'My own other, text' };
    expect(toAnswers([part], [multi])).toEqual({ 'Which checks?': ['Yes, always', 'Yes', 'My own other, text'] });
    expect(chooseOption(part, multi, 'Yes').chosen).toEqual(['Yes, always']);
  });

  it('has the field for own words open where there are no options', () => {
    expect(emptyDraft([choice('Name?', [])])[0]).toMatchObject({ otherOn: true });
  });

  it('passes free text on word for word', () => {
    const part = { ...toggleOther(empty, single, true), other: '  two  spaces\nand a line ' };
    expect(toAnswers([part], [single])).toEqual({ 'Which database?': ['  two  spaces\nand a line '] });
  });

  it('is no answer while a question has none, or only blanks', () => {
    expect(toAnswers([empty], [single])).toBeUndefined();
    expect(isAnswered({ ...toggleOther(empty, single, true), other: ' \t\n' }, single)).toBe(false);
    const chosen = chooseOption(empty, single, 'SQLite');
    expect(toAnswers([chosen, empty], [single, multi])).toBeUndefined();
  });

  it('survives a reload for the same question only', () => {
    const draft = [chooseOption(empty, single, 'SQLite')];
    expect(parseDraft(JSON.stringify(draft), [single])).toEqual(draft);
    expect(parseDraft(JSON.stringify(draft), [single, multi])).toEqual(emptyDraft([single, multi]));
    expect(parseDraft(JSON.stringify(draft), [choice('Other?', ['A'])])[0]?.chosen).toEqual([]);
    for (const text of [null, '', '{', '[1]', '[{"chosen":[7],"other":3}]']) {
      expect(parseDraft(text, [single])).toEqual(emptyDraft([single]));
    }
  });

  it('can be made again from the answers that were sent', () => {
    const answers = { 'Which database?': ['SQLite'], 'Which checks?': ['always', 'own words'] };
    expect(toAnswers(draftOfAnswers(answers, [single, multi]), [single, multi])).toEqual(answers);
  });

  it('never words two answers as three', () => {
    expect(wordAnswers({ a: ['Yes, always', 'Yes'] })).toBe('“Yes, always”, Yes');
    expect(wordAnswers({ a: ['PostgreSQL'], b: ['x'] })).toBe('PostgreSQL · x');
  });
});
