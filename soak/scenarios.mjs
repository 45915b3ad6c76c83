// What the scripted model does in a round. Each prompt carries a mark of its own that chooses the steps;
// question texts, labels and call ids carry it too, so the request log tells what belongs to what.
// No word of these is said by the model itself: what is counted in a request was told to it. Pure.

import { ask, text, tool } from '@engram/demo-model';

export const SCENARIO = 'SOAK';
export const mark = (promptKey) => `[[${SCENARIO}:${promptKey}]]`;
/** In every request of the round's conversation. */
export const roundMark = (tag) => `[[${SCENARIO}:${tag}p`;
export const promptText = (promptKey) => `Please do what is asked here. ${mark(promptKey)}`;
export const promptKey = (tag, number) => `${tag}p${number}`;

const COLOURS = ['Red', 'Blue', 'Green'];
export const labelsOf = (questionKey) => COLOURS.map((colour) => `${colour} ${questionKey}`);
export const questionText = (questionKey) => `Which colour for ${questionKey}?`;
export const questionKeyOf = (question) => /for (r\d+p\d+q\d+)\?/.exec(question)?.[1];
export const callPrefix = (questionKey) => `toolu_soak_${questionKey}_`;

function question(questionKey, multiSelect) {
  const block = ask({
    question: questionText(questionKey),
    header: 'Colour',
    multiSelect,
    options: labelsOf(questionKey).map((label) => ({ label, description: 'a colour' })),
  });
  return { ...block, idPrefix: callPrefix(questionKey) };
}

/** Question keys that a kind asks, by step of the model. */
export function asksOf(kind, key) {
  switch (kind) {
    case 'one':
    case 'bash':
    case 'bash-first':
      return [[`${key}q1`]];
    case 'row':
      return [[`${key}q1`], [`${key}q2`]];
    case 'pair':
      return [[`${key}q1`, `${key}q2`]];
    case 'write':
      return [[], [`${key}q1`]];
    default:
      return [];
  }
}

/** The model's turns for one prompt. */
export function stepsOf(kind, key, pace, workspace) {
  const paced = (...blocks) => ({ ...pace, blocks });
  const done = { blocks: [text('All of it is done.')] };
  const wait = tool('Bash', { command: 'sleep 0.4; echo beside', description: 'wait a little' });
  const write = (name) => tool('Write', { file_path: `${workspace}/${name}`, content: `${name}\nsecond line\n` });
  switch (kind) {
    case 'one':
      return [paced(text('One thing is open.'), question(`${key}q1`, false)), done];
    case 'row':
      return [paced(question(`${key}q1`, false)), paced(question(`${key}q2`, true)), done];
    case 'pair':
      return [paced(question(`${key}q1`, false), question(`${key}q2`, true)), done];
    case 'bash':
      return [paced(question(`${key}q1`, true), wait), done];
    case 'bash-first':
      return [paced(wait, question(`${key}q1`, false)), done];
    case 'write':
      return [paced(write('draft.txt')), paced(question(`${key}q1`, false)), { blocks: [write('final.txt')] }, done];
    case 'slow':
      return [{ blocks: [text('It takes a while to say all of this. '.repeat(6))], chunk: 12, delay: 80 }];
    default:
      return [{ ...pace, blocks: [text('Nothing was open; it is done.')] }];
  }
}
