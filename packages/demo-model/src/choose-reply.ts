// Decides which scripted reply a request gets. Pure.
//
// The newest user message with a marker `[[NAME]]` or `[[NAME:argument]]` selects the scenario;
// the step is the number of assistant messages after it. A request that offers no tools is a side
// request (title, summary) and gets a fixed text. Without any marker the story runs, if it is on.

import { storyReply } from './demo-story.js';
import { findWorkspace, type MessagesRequest, tailOf, textsOf, toolResultsIn } from './messages-request.js';
import { type ReplyContext, type Scenario, type Step, text } from './reply-script.js';
import { echo } from './scenarios.js';

export interface ChosenReply {
  /** Scenario name, `(side request)`, `(story)`, or `(no marker)`. */
  readonly scenario: string;
  readonly step: number;
  readonly reply: Step;
}

interface Marker {
  readonly name: string;
  readonly arg: string | undefined;
  /** Index of the message that carries it. */
  readonly at: number;
}

function newestMarker(request: MessagesRequest): Marker | undefined {
  for (let at = request.messages.length - 1; at >= 0; at--) {
    const message = request.messages[at];
    if (message?.role !== 'user') continue;
    // a merged message may hold several prompts: the last marker in it counts
    const found = textsOf(message)
      .flatMap((content) => [...content.matchAll(/\[\[([A-Z0-9_]+)(?::([^\]]*))?\]\]/g)])
      .at(-1);
    if (found?.[1] !== undefined) return { name: found[1], arg: found[2], at };
  }
  return undefined;
}

export interface ChooserOptions {
  readonly scenarios: ReadonlyMap<string, Scenario>;
  readonly story: boolean;
  /** Used when the request does not name its working directory. */
  readonly workspacePath: string;
}

export function chooseReply(request: MessagesRequest, n: number, options: ChooserOptions): ChosenReply {
  if (request.tools.length === 0) {
    return { scenario: '(side request)', step: 0, reply: { blocks: [text('{"title":"Scripted demo"}')] } };
  }
  const results = toolResultsIn(tailOf(request.messages));
  const workspace = findWorkspace(request) ?? options.workspacePath;
  const marker = newestMarker(request);
  if (marker === undefined) {
    const context: ReplyContext = { arg: undefined, step: 0, n, results, workspace };
    if (options.story) return { scenario: '(story)', ...storyReply(request.messages, context) };
    const reply = results.length > 0 ? echo(context) : { blocks: [text('no marker')] };
    return { scenario: '(no marker)', step: 0, reply };
  }
  const step = request.messages.slice(marker.at + 1).filter((message) => message.role === 'assistant').length;
  const context: ReplyContext = { arg: marker.arg, step, n, results, workspace };
  const scenario = options.scenarios.get(marker.name);
  const steps = typeof scenario === 'function' ? scenario(context) : (scenario ?? []);
  const script = steps[Math.min(step, steps.length - 1)] ?? { blocks: [text(`no scenario ${marker.name}`)] };
  return { scenario: marker.name, step, reply: typeof script === 'function' ? script(context) : script };
}
