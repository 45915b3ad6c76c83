// Which accepted prompts have not run yet, oldest first. Pure, from the log alone: a prompt leaves
// the queue by the run it started or by being withdrawn.

import type { LogEvent, Session } from './api-types.js';

export interface QueuedPrompt {
  readonly promptId: string;
  readonly text: string;
  readonly at: string;
  /** Files that go with it. */
  readonly files: number;
  /** The agent's side has it in its own queue: it waits for the run that is open. */
  readonly seen: boolean;
}

/** What a host adds to the words that reach the agent when files go with them, on one line as a summary has it. */
const FILE_LIST = / Files that the user attached to this message; read them before you go on:.*$/s;

/** The person's own words after an edit: whole, or from an older log the summary of what the agent got. */
export function textOfEdit(
  { text, summary }: { readonly text?: string; readonly summary?: string },
  files: number,
): string | undefined {
  return text ?? (files === 0 ? summary : summary?.replace(FILE_LIST, ''));
}

/** A summary holds this many characters of the new text at most. */
const SUMMARY_LENGTH = 200;

/** Where the log holds only the beginning of an edited text, the server's own list has all of it. */
export function withWholeTexts(
  queue: readonly QueuedPrompt[],
  undelivered: Session['undelivered'],
): readonly QueuedPrompt[] {
  return queue.map((prompt) => {
    if (Array.from(prompt.text).length !== SUMMARY_LENGTH) return prompt;
    const whole = undelivered.find(({ kind, id }) => kind === 'prompt' && id === prompt.promptId)?.text;
    return whole?.startsWith(prompt.text) === true ? { ...prompt, text: whole } : prompt;
  });
}

export function buildPromptQueue(events: readonly LogEvent[]): readonly QueuedPrompt[] {
  const queue = new Map<string, QueuedPrompt>();
  const gone = new Set<string>();
  for (const { event, at } of events) {
    switch (event.type) {
      case 'prompt_received':
        if (!gone.has(event.prompt_id) && !queue.has(event.prompt_id)) {
          queue.set(event.prompt_id, {
            promptId: event.prompt_id,
            text: event.text,
            at,
            files: event.attachments?.length ?? 0,
            seen: false,
          });
        }
        break;
      case 'prompt_queued':
      case 'prompt_edited': {
        const prompt = queue.get(event.prompt_id);
        if (prompt === undefined) break;
        const edited = event.type === 'prompt_edited' ? textOfEdit(event, prompt.files) : undefined;
        queue.set(event.prompt_id, { ...prompt, text: edited ?? prompt.text, seen: true });
        break;
      }
      case 'prompt_dequeued':
        gone.add(event.prompt_id);
        queue.delete(event.prompt_id);
        break;
      case 'run_started':
        if (event.prompt_id === undefined) break;
        gone.add(event.prompt_id);
        queue.delete(event.prompt_id);
        break;
      default:
        break;
    }
  }
  return [...queue.values()];
}
