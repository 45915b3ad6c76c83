// The story told to a newcomer who has no model credentials: say hello, write a file, edit it, ask
// one question, act on the answer, sum up. Pure: where the story stands is read from the ids of the
// calls in the conversation, so it survives restarts and asks for no memory of its own.
//
// hello+write → edit → ask → apply → summary; a file that is in the way is read and written over.

import { type RequestMessage, tailOf, textsOf, toolResultsIn } from './messages-request.js';
import { type Block, type ReplyContext, type ScriptedQuestion, type Step, text, tool } from './reply-script.js';

export const STORY_FILE = 'greet.mjs';

export const STORY_QUESTION: ScriptedQuestion = {
  question: 'How should the greeting sound?',
  header: 'Greeting',
  multiSelect: false,
  options: [
    { label: 'Friendly', description: 'Warm and informal: “Hi there, world!”' },
    { label: 'Formal', description: 'Polite and restrained: “Good day, world.”' },
    { label: 'Playful', description: 'With a wink: “Ahoy, world!”' },
  ],
};

const FIRST_LINE = "  return 'Hello ' + name;";
const PLAIN_GREETING = greetingOf('Hello, ', '!');
const SECOND_LINE = `  const who = name.trim();\n${PLAIN_GREETING}`;
const GREETINGS: ReadonlyMap<string, string> = new Map([
  ['Friendly', greetingOf('Hi there, ', '!')],
  ['Formal', greetingOf('Good day, ', '.')],
  ['Playful', greetingOf('Ahoy, ', '!')],
]);

/** The file's line that greets, as JavaScript source: a template literal around the name. */
function greetingOf(before: string, after: string): string {
  return `  return \`${before}\${who}${after}\`;`;
}

const FILE_CONTENT = `// Greets whoever is named.
export function greet(name) {
${FIRST_LINE}
}

console.log(greet('world'));
`;

type Phase = 'write' | 'read' | 'rewrite' | 'edit' | 'ask' | 'apply';
const PHASE_ID = /^toolu_story_(write|read|rewrite|edit|ask|apply)_/;
const isPhase = (value: string | undefined): value is Phase =>
  value !== undefined && ['write', 'read', 'rewrite', 'edit', 'ask', 'apply'].includes(value);

function newestCall(messages: readonly RequestMessage[]): { phase: Phase; id: string } | undefined {
  for (const message of messages.toReversed()) {
    for (const block of message.blocks.toReversed()) {
      if (block.type !== 'tool_use') continue;
      const phase = PHASE_ID.exec(block.id)?.[1];
      if (isPhase(phase)) return { phase, id: block.id };
    }
  }
  return undefined;
}

/** What a person wrote since the last reply, without the reminders the CLI adds. */
function freshWords(messages: readonly RequestMessage[]): string {
  return tailOf(messages)
    .filter((message) => message.role === 'user')
    .flatMap((message) => textsOf(message))
    .filter((words) => !words.trimStart().startsWith('<') && !words.startsWith('Continue from where you left off'))
    .join('\n')
    .trim();
}

/** The line for the file, from the text the model got as the answer. */
export function greetingLine(answer: string): { readonly line: string; readonly chosen: string } {
  // the CLI puts the chosen label behind `="`; words of a person may come bare
  const quoted = /="([^"]*)"/.exec(answer)?.[1] ?? answer.trim();
  for (const [label, line] of GREETINGS) if (quoted === label) return { line, chosen: label };
  const words = quoted.replace(/\s+/g, ' ').slice(0, 60);
  return { line: `  return ${JSON.stringify(`${words} — `)} + who;`, chosen: words };
}

const call = (phase: Phase, name: string, input: unknown): Block =>
  tool(name, input, { idPrefix: `toolu_story_${phase}_` });
const told = (...blocks: readonly Block[]): Step => ({ blocks, chunk: 14, delay: 18 });

const LATER = (words: string): string =>
  `${words === '' ? '' : `You wrote: “${words.replace(/\s+/g, ' ').slice(0, 120)}”. `}I cannot act on that: this is a **scripted demo**, ` +
  'not a language model, and its story is over. Start a new demo session to see it again, ' +
  'or give Engram model credentials (for example `ANTHROPIC_API_KEY`) and start a real one.';

export interface StoryTurn {
  readonly step: number;
  readonly reply: Step;
}

export function storyReply(messages: readonly RequestMessage[], context: ReplyContext): StoryTurn {
  const path = `${context.workspace}/${STORY_FILE}`;
  const last = newestCall(messages);
  const result = last && toolResultsIn(tailOf(messages)).find((each) => each.tool_use_id === last.id);
  const words = freshWords(messages);
  const question = (intro: string): StoryTurn => ({
    step: 2,
    reply: told(text(intro), call('ask', 'AskUserQuestion', { questions: [STORY_QUESTION] })),
  });
  const edit = (): StoryTurn => ({
    step: 1,
    reply: told(
      text('The file is there. One small improvement: trim the name and use a template literal.'),
      call('edit', 'Edit', { file_path: path, old_string: FIRST_LINE, new_string: SECOND_LINE }),
    ),
  });

  if (last === undefined) {
    return {
      step: 0,
      reply: told(
        text(
          'Hello! This is the **Engram demo**: a scripted model, not a real one, drives the real agent. ' +
            `I will write a small file, change it, and ask you one question.\n\nFirst, \`${STORY_FILE}\`:`,
        ),
        call('write', 'Write', { file_path: path, content: FILE_CONTENT }),
      ),
    };
  }
  // a prompt that no call waits for: the story was interrupted or is over
  if (result === undefined && last.phase !== 'ask') return { step: 5, reply: told(text(LATER(words))) };
  switch (last.phase) {
    case 'write':
      if (result?.is_error !== true) return edit();
      return {
        step: 0,
        reply: told(
          text(`\`${STORY_FILE}\` is there already. I read it first.`),
          call('read', 'Read', { file_path: path }),
        ),
      };
    case 'read':
      if (result?.is_error === true) return question('The file cannot be used here, so I go on with my question.');
      return { step: 0, reply: told(call('rewrite', 'Write', { file_path: path, content: FILE_CONTENT })) };
    case 'rewrite':
      return result?.is_error === true
        ? question('The file could not be written, so I go on with my question.')
        : edit();
    case 'edit':
      return question(
        'Now I need a decision from you. You may close this page: nothing runs while the question waits.',
      );
    case 'ask': {
      const asked = messages.findLastIndex((message) =>
        message.blocks.some((block) => block.type === 'tool_use' && block.id === last.id),
      );
      // somebody wrote again after the story had already reacted to the answer
      if (
        result === undefined &&
        (words === '' || messages.slice(asked + 1).some((message) => message.role === 'assistant'))
      ) {
        return { step: 5, reply: told(text(LATER(words))) };
      }
      if (result?.is_error === true && words === '') {
        return {
          step: 4,
          reply: told(
            text(`You did not want to decide, so \`${STORY_FILE}\` stays as it is. That was the scripted demo.`),
          ),
        };
      }
      const { line, chosen } = greetingLine(result === undefined || result.is_error ? words : result.content);
      return {
        step: 3,
        reply: told(
          text(`Thank you. You chose **${chosen}**, so I change the greeting.`),
          call('apply', 'Edit', { file_path: path, old_string: PLAIN_GREETING, new_string: line }),
        ),
      };
    }
    case 'apply':
      return {
        step: 4,
        reply: told(
          text(
            result?.is_error === true
              ? `The last change was refused: ${result.content.slice(0, 200)}\n\nThat was the scripted demo.`
              : `### Done\n\n- wrote \`${STORY_FILE}\`\n- edited it once on my own\n- asked you, and edited it again by your answer\n\n` +
                  `Run it with \`node ${STORY_FILE}\`. Everything above was **scripted**; the agent, the files, the question and its answer were real.`,
          ),
        ),
      };
    default:
      last.phase satisfies never;
      return { step: 5, reply: told(text(LATER(words))) };
  }
}
