// The script of one model reply: what is said, what is called, and when each part goes out.
//
// Times are milliseconds. A gate is a name: the stream stands still at that point until
// `model.open(name)`. Order of one reply, with the places that can be slowed or held:
//   gate, beforeStart → message_start → per block: block.gate, block.pause → deltas (chunk, delay)
//   → sseError | cut | beforeDelta, gateBeforeDelta → message_delta
//   → beforeStop, gateBeforeStop → message_stop

interface BlockTiming {
  /** Wait before this block starts. */
  readonly pause?: number;
  /** Stand still before this block starts. */
  readonly gate?: string;
}

export interface TextBlock extends BlockTiming {
  readonly type: 'text';
  readonly text: string;
}
export interface ThinkingBlock extends BlockTiming {
  readonly type: 'thinking';
  readonly thinking: string;
}
export interface ToolBlock extends BlockTiming {
  readonly type: 'tool_use';
  readonly name: string;
  readonly input: unknown;
  /** Made up and unique when absent. */
  readonly id?: string;
  /** What a made-up id starts with. */
  readonly idPrefix?: string;
}
export type Block = TextBlock | ThinkingBlock | ToolBlock;

export interface ScriptedUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
}

export interface ScriptedError {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One assistant turn. */
export interface Step {
  readonly blocks?: readonly Block[];
  /** Follows from the blocks when absent: `tool_use` when there is a call, else `end_turn`. */
  readonly stop?: string;
  /** Split text and tool input into deltas of this many characters; absent = one delta a block. */
  readonly chunk?: number;
  /** Wait after each delta. */
  readonly delay?: number;
  readonly beforeStart?: number;
  /** Wait between the last block and message_delta, which brings the stop reason. */
  readonly beforeDelta?: number;
  /** Wait between message_delta and message_stop. */
  readonly beforeStop?: number;
  /** Hold the whole reply; the request is logged already. */
  readonly gate?: string;
  readonly gateBeforeDelta?: string;
  readonly gateBeforeStop?: string;
  /** Destroy the connection in place of message_delta and message_stop. */
  readonly cut?: boolean;
  /** Refuse the request with an HTTP status. */
  readonly error?: ScriptedError;
  /** An error event inside a 200 stream, after the blocks. */
  readonly sseError?: { readonly type: string; readonly message: string };
  readonly usage?: Partial<ScriptedUsage>;
}

/** A tool_result as the model got it. `content` is its text, whole. */
export interface ToolResult {
  readonly tool_use_id: string;
  readonly is_error: boolean;
  readonly content: string;
}

/** What a script may decide by. */
export interface ReplyContext {
  /** The text behind the colon of `[[NAME:argument]]`. */
  readonly arg: string | undefined;
  /** Assistant messages since the prompt that carries the marker. */
  readonly step: number;
  /** Number of this request, from 1. */
  readonly n: number;
  /** Results since the last assistant message. */
  readonly results: readonly ToolResult[];
  /** The agent's working directory, without a trailing slash. */
  readonly workspace: string;
}

export type StepScript = Step | ((context: ReplyContext) => Step);
/** Assistant turns in order; the last one repeats. */
export type Scenario = readonly StepScript[] | ((context: ReplyContext) => readonly StepScript[]);

export const text = (content: string, timing: BlockTiming = {}): TextBlock => ({
  type: 'text',
  text: content,
  ...timing,
});
export const thinking = (content: string, timing: BlockTiming = {}): ThinkingBlock => ({
  type: 'thinking',
  thinking: content,
  ...timing,
});
export const tool = (
  name: string,
  input: unknown,
  more: BlockTiming & Pick<ToolBlock, 'id' | 'idPrefix'> = {},
): ToolBlock => ({ type: 'tool_use', name, input, ...more });

export interface ScriptedQuestion {
  readonly question: string;
  readonly header: string;
  readonly multiSelect: boolean;
  readonly options: readonly { readonly label: string; readonly description: string }[];
}
export const ask = (...questions: readonly ScriptedQuestion[]): ToolBlock => tool('AskUserQuestion', { questions });
