// Questions and answers on the wire: parts of events and of commands alike.

import type { Answers, Question, QuestionOption } from './events.js';
import { type Read, readStrings } from './reader.js';
import { type Write, writeStrings } from './writer.js';

const readOption: Read<QuestionOption> = (reader) => ({ label: reader.string(), description: reader.string() });
const writeOption: Write<QuestionOption> = (writer, option) => {
  writer.string(option.label);
  writer.string(option.description);
};

const readQuestion: Read<Question> = (reader) => ({
  question: reader.string(),
  header: reader.string(),
  multi_select: reader.bool(),
  options: reader.list(16, readOption),
});
const writeQuestion: Write<Question> = (writer, question) => {
  writer.string(question.question);
  writer.string(question.header);
  writer.bool(question.multi_select);
  writer.list(question.options, writeOption);
};

export const readQuestions: Read<Question[]> = (reader) => reader.list(25, readQuestion);
export const writeQuestions: Write<readonly Question[]> = (writer, questions) => writer.list(questions, writeQuestion);

export const readAnswers: Read<Answers> = (reader) => reader.map(8, readStrings);
export const writeAnswers: Write<Answers> = (writer, answers) => writer.map(answers, writeStrings);
