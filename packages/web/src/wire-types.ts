// The wire's own types under the names the page uses. Types only: no code of the wire's package
// is bundled.

export type {
  AgentMessageChunk,
  Answers,
  FileChange,
  KnownHarnessEvent,
  PatchHunk,
  PatchKind,
  Question,
  ResultImage,
  Truncation,
} from '@engram/harness-proto';

export interface Actor {
  readonly id: string;
  readonly name: string;
}
