// The shapes of requests and replies. Session and PendingQuestion are held against the
// coordinator's types by the compiler. Replies are not checked at run time.

import type { PendingQuestion as DeskPendingQuestion, Session as DeskSession } from '@engram/coordinator';
import { z } from 'zod';
import { Question, SessionStatus, StoredEventJson } from './event-schemas.js';
import { ClientId, oneLine, spokenText, storableText } from './input-schemas.js';

const timestamp = z.string().meta({ format: 'date-time' });
const count = z.int().min(0);
const MAX_TEXT = 256 * 1024;
const MAX_PROMPT_ATTACHMENTS = 10;

export const QuestionState = z.enum(['waiting', 'sent', 'failed']).meta({ id: 'QuestionState' });

// ——— replies ———

export const WorkspaceReply = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('path'), path: z.string() }).readonly(),
    z.object({ kind: z.literal('git'), url: z.string(), ref: z.string().exactOptional() }).readonly(),
    z.object({ kind: z.literal('empty') }).readonly(),
  ])
  .meta({ id: 'Workspace' });

export const SessionReply = z
  .object({
    id: z.string(),
    title: z.string(),
    agent: z.string(),
    model: z.string().exactOptional(),
    status: SessionStatus,
    running: z.boolean().meta({ description: 'A run is open; false while a question waits or is held.' }),
    awaiting: z
      .array(
        z
          .object({
            tool_call_id: z.string(),
            questions: z.array(Question).readonly(),
            asked_at: timestamp,
            state: QuestionState,
          })
          .readonly(),
      )
      .readonly(),
    owner: z.string(),
    workspace: WorkspaceReply,
    created_at: timestamp,
    updated_at: timestamp,
    last_event_idx: count,
    usage: z
      .object({
        input_tokens: count,
        output_tokens: count,
        cache_read_tokens: count,
        cache_write_tokens: count,
        cost_micro_usd: count,
      })
      .readonly(),
    undelivered: z
      .array(
        z
          .object({ kind: z.string(), id: z.string(), text: z.string().exactOptional(), accepted_at: timestamp })
          .readonly(),
      )
      .readonly()
      .meta({ description: 'Accepted and not yet proven done, oldest first.' }),
  })
  .readonly()
  .meta({ id: 'Session' }) satisfies z.ZodType<DeskSession>;

export const PendingQuestionReply = z
  .object({
    session_id: z.string(),
    session_title: z.string(),
    tool_call_id: z.string(),
    questions: z.array(Question).readonly(),
    asked_at: timestamp,
    state: QuestionState,
  })
  .readonly()
  .meta({ id: 'PendingQuestion' }) satisfies z.ZodType<DeskPendingQuestion>;

const nextCursor = z.string().exactOptional();
export const SessionPage = z.object({ sessions: z.array(SessionReply), next_cursor: nextCursor });
export const QuestionPage = z.object({ questions: z.array(PendingQuestionReply), next_cursor: nextCursor });
export const EventPage = z.object({ events: z.array(StoredEventJson), next_since: count });
export const AttachmentReply = z
  .object({
    attachment_id: z.string().meta({ description: 'SHA-256 of the bytes, in hex.' }),
    media_type: z.string().meta({ description: 'Told from the bytes.' }),
    size: count,
  })
  .meta({ id: 'AttachmentInfo' });
export const PromptReply = z.object({ prompt_id: z.string() });
export const AnswerReply = z.object({
  tool_call_id: z.string(),
  state: z.enum(['waiting', 'sent', 'failed', 'answered']),
});
export const CallReply = z.object({ tool_call_id: z.string() });
export const AttendReply = z.object({ tool_call_id: z.string(), hold_ms: count });
export const StatusReply = z.object({ status: SessionStatus });

const credentials = z.enum(['environment', 'none']);
export const ServerStatus = z
  .object({
    version: z.string(),
    you: z.object({ id: z.string(), name: z.string() }),
    hosts: z.array(
      z.object({
        name: z.string(),
        alive: z.boolean(),
        isolation: z.string(),
        credentials,
        demo: z.boolean(),
        claude_version: z.string().exactOptional(),
        slots: count,
        sessions: count,
        draining: z.boolean(),
      }),
    ),
    credentials: credentials.meta({ description: 'What the living hosts found: model credentials or none.' }),
    demo: z.boolean().meta({ description: 'A living host offers the demo model.' }),
    isolation: z.string().exactOptional().meta({ description: 'Of the living hosts; left out when they differ.' }),
    claude_version: z.string().exactOptional(),
    default_workspace: z.string().exactOptional(),
    workspace_roots: z.array(z.string()),
  })
  .meta({ id: 'ServerStatus' });

export const LoginLink = z.object({
  url: z.string().meta({ description: 'Opens the web app once, in one browser.' }),
  expires_at: timestamp,
});

// ——— requests ———

/** Neither an option nor anything a shell or an argv parser could take for one. */
const modelName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:/@[\]-]{0,199}$/, 'must be a model name: letters, digits and . _ : / @ [ ] -');

const gitUrl = z.string().max(2048).refine(isGitUrl, 'must be an https:// or ssh:// address, or user@host:path');
const gitRef = z
  .string()
  .regex(/^(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9._/@+-]{0,249}$/, 'must be the name of a branch, tag or commit');

function isGitUrl(url: string): boolean {
  if (!/^[\x21-\x7e]+$/.test(url)) return false;
  if (/^(https|ssh):\/\/[^/]/.test(url)) return URL.canParse(url) && !new URL(url).hostname.startsWith('-');
  return /^[A-Za-z0-9_][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:(?!\/\/)[^\s-]\S*$/.test(url);
}

export const WorkspaceInput = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('path'), path: spokenText(4096) }),
  z.object({ kind: z.literal('git'), url: gitUrl, ref: gitRef.exactOptional() }),
  z.object({ kind: z.literal('empty') }),
]);

export const NewSessionInput = z.object({
  prompt: spokenText(MAX_TEXT).exactOptional(),
  title: oneLine(200).exactOptional(),
  agent: z.enum(['claude']).exactOptional().meta({ default: 'claude' }),
  model: modelName.exactOptional(),
  workspace: WorkspaceInput.exactOptional().meta({ description: 'Empty when left out.' }),
});

export const SessionPatch = z.object({ title: oneLine(200).exactOptional() });
export const PromptInput = z.object({
  text: spokenText(MAX_TEXT),
  prompt_id: ClientId.exactOptional().meta({ description: 'Chosen by the client, so that sending again is safe.' }),
  attachments: z
    .array(z.object({ attachment_id: z.string().max(64), name: oneLine(200) }))
    .max(MAX_PROMPT_ATTACHMENTS, `at most ${MAX_PROMPT_ATTACHMENTS} files with one prompt`)
    .exactOptional()
    .meta({ description: 'Files uploaded to this session before; the agent gets them with the prompt.' }),
});
export const PromptEdit = z.object({ text: spokenText(MAX_TEXT) });
export const AnswerInput = z.object({
  tool_call_id: z.string(),
  answers: z
    .record(z.string(), z.array(storableText(MAX_TEXT)))
    .meta({ description: 'Every question by its text, each with its labels or free text. See Answers.' }),
});
export const DismissInput = z.object({ reason: storableText(2000).exactOptional() });
