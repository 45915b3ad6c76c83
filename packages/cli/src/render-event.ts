// One event as lines for a terminal. Pure. Everything that came from an agent or a person goes through
// safeText, so that it can neither move the cursor nor pass for our own lines.

import { assertNever, type FileChange, type Question } from '@engram/harness-proto';
import { type ApiEvent, isKnownEvent, type KnownEvent } from './api-events.js';
import { quoteForShell } from './output.js';
import { type Paint, plainPaint } from './paint.js';
import { safeLine, safeText } from './terminal-text.js';

export interface RenderContext {
  readonly sessionId: string;
  readonly paint: Paint;
  /** What every suggested command ends with. */
  readonly commandEnd: string;
}

/** Lines without line ends; none for what a person does not need to see. */
export function renderEvent(
  event: ApiEvent,
  context: RenderContext = { sessionId: '', paint: plainPaint, commandEnd: '' },
): readonly string[] {
  try {
    return isKnownEvent(event) ? renderKnown(event, context) : [context.paint.dim(`· ${safeLine(event.type)}`)];
  } catch {
    return [context.paint.dim(`· ${safeLine(event.type)} (not readable by this release)`)];
  }
}

function renderKnown(event: KnownEvent, context: RenderContext): readonly string[] {
  const { paint } = context;
  switch (event.type) {
    case 'session_created':
      return [paint.bold(`▌ ${safeLine(event.title)}`)];
    case 'prompt_received':
      return [
        ...indent(
          event.text,
          `${paint.cyan('you')} ${safeLine(event.by.name) === 'you' ? '' : `(${safeLine(event.by.name)}) `}`.trimEnd(),
          paint,
        ),
        ...(event.attachments ?? []).map(({ name, size }) => paint.dim(`  + ${safeLine(name)} (${size} bytes)`)),
      ];
    case 'agent_message':
      return event.role === 'user'
        ? []
        : indent(event.text, paint.green(event.role === 'system' ? 'system' : 'agent'), paint, event.truncated_bytes);
    case 'agent_thought':
      return [paint.dim(`· thought: ${safeLine(event.text, 140)}`)];
    case 'tool_call_started':
      return [
        `${paint.dim('·')} ${safeLine(event.tool_name, 60)} ${paint.dim(safeLine(event.args_summary ?? '', 140))}`.trimEnd(),
      ];
    case 'tool_call_completed':
      return event.ok
        ? []
        : [paint.red(`✗ ${safeLine(event.tool_name, 60)} failed: ${safeLine(event.result_summary ?? '', 160)}`)];
    case 'file_changed':
      return renderChange(event.path, event.change, paint);
    case 'user_question':
      return renderQuestion(event.tool_call_id, event.questions, context);
    case 'answer_submitted':
      return [paint.dim(`… answer from ${safeLine(event.by.name, 60)} accepted, on its way to the agent`)];
    case 'question_answered':
      return [
        paint.green('✓ answered'),
        ...Object.entries(event.answers).map(
          ([question, labels]) => `  ${safeLine(question)} → ${labels.map((label) => safeLine(label)).join(', ')}`,
        ),
      ];
    case 'question_dismissed':
      return [paint.yellow(`✓ question closed: ${safeLine(event.reason)}`)];
    case 'answer_failed':
      return [paint.red(`✗ the answer did not reach the agent: ${safeLine(event.message)}`)];
    case 'run_completed':
      return [event.ok ? paint.dim('— done') : paint.red('— ended with an error')];
    case 'run_interrupted':
      return [paint.yellow('— stopped')];
    case 'prompt_queued':
      return [paint.dim(`… queued: ${safeLine(event.summary ?? event.prompt_id)}`)];
    case 'prompt_edited':
      return [paint.dim(`… queued prompt changed: ${safeLine(event.summary ?? event.prompt_id)}`)];
    case 'prompt_dequeued':
      return [paint.dim('… queued prompt withdrawn')];
    case 'session_error':
      return [paint.red(`✗ ${safeLine(event.message, 400)} (${safeLine(event.code, 60)})`)];
    case 'notice':
      return [(event.level === 'error' ? paint.red : paint.yellow)(`! ${safeLine(event.message, 400)}`)];
    case 'session_deleted':
      return [paint.dim('— session deleted')];
    case 'agent_message_chunk':
    case 'harness_idle':
    case 'run_started':
    case 'status_changed':
    case 'usage':
      return [];
    default:
      return assertNever(event);
  }
}

/** A whole message; our own words stand at the margin, foreign ones are indented. */
function indent(text: string, who: string, paint: Paint, truncatedBytes?: number): readonly string[] {
  const lines = safeText(text).trimEnd().split('\n');
  const cut = truncatedBytes === undefined ? [] : [paint.dim(`  (${truncatedBytes} bytes more)`)];
  return [who, ...lines.map((line) => `  ${line}`), ...cut];
}

function renderChange(path: string, change: FileChange, paint: Paint): readonly string[] {
  const name = paint.bold(safeLine(path));
  switch (change.type) {
    case 'patch': {
      const about = change.approximate ? '~' : '';
      const what = change.kind === 'create' ? ' (new)' : change.kind === 'overwrite' ? ' (written over)' : '';
      return [
        `${paint.green('±')} ${name}${what} ${paint.green(`+${about}${change.additions}`)} ${paint.red(`−${about}${change.deletions}`)}`,
      ];
    }
    case 'write':
      return [`${paint.green('±')} ${name} (written)`];
    case 'edit':
      return [`${paint.green('±')} ${name} (${change.hunks.length} ${change.hunks.length === 1 ? 'edit' : 'edits'})`];
    default:
      return assertNever(change);
  }
}

export function renderQuestion(
  toolCallId: string,
  questions: readonly Question[],
  { sessionId, paint, commandEnd }: RenderContext,
): readonly string[] {
  const lines = questions.flatMap((question, at) => [
    `${paint.yellow('?')} ${paint.bold(`${questions.length > 1 ? `${at + 1}. ` : ''}${safeLine(question.question, 400)}`)}${question.multi_select ? paint.dim(' (any number)') : ''}`,
    ...question.options.map(
      (option, index) =>
        `    ${index + 1}  ${safeLine(option.label)}${option.description === '' ? '' : paint.dim(` — ${safeLine(option.description)}`)}`,
    ),
  ]);
  const flags = questions.map(() => '--choose 1').join(' ');
  const command = `npm run engram -- answer ${sessionId} ${quoteForShell(safeLine(toolCallId))} ${flags}${commandEnd}`;
  return [...lines, `  answer with: ${paint.cyan(command)} ${paint.dim('(or --text "…")')}`];
}
