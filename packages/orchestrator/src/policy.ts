// Who may do what: one table, fail closed. An action without an entry is denied, a session that is
// unknown and one of somebody else are the same denial, and a handler runs only after `allow`.
// Prompting and answering are one action on purpose: whoever may do one may do the other.

import type { Actor } from '@engram/coordinator';
import { assertNever } from '@engram/harness-proto';

/**
 * anybody: no identity needed · caller: any valid identity · token_holder: a bearer token, not a
 * browser · session_owner: the caller owns the session the call names · operator: the machine itself
 * or the holder of the metrics token.
 */
export type Rule = 'anybody' | 'caller' | 'token_holder' | 'session_owner' | 'operator';

export type Action =
  | 'health.read'
  | 'metrics.read'
  | 'api.describe'
  | 'status.read'
  | 'login_links.create'
  | 'browser_session.end'
  | 'sessions.create'
  | 'sessions.list'
  | 'questions.list'
  | 'session.read'
  | 'session.manage'
  | 'session.converse';

const TABLE: ReadonlyMap<string, Rule> = new Map<Action, Rule>([
  ['health.read', 'anybody'],
  ['api.describe', 'anybody'],
  ['metrics.read', 'operator'],
  ['status.read', 'caller'],
  ['login_links.create', 'token_holder'],
  ['browser_session.end', 'caller'],
  ['sessions.create', 'caller'],
  ['sessions.list', 'caller'],
  ['questions.list', 'caller'],
  ['session.read', 'session_owner'],
  ['session.manage', 'session_owner'],
  ['session.converse', 'session_owner'],
]);

export interface Caller {
  readonly actor: Actor;
  readonly via: 'token' | 'cookie';
}

export interface Facts {
  readonly caller: Caller | undefined;
  readonly operator: boolean;
  /** The owner of the session the call names; undefined when there is none. */
  readonly sessionOwner: string | undefined;
}

export type Verdict =
  | { readonly allow: true }
  | { readonly allow: false; readonly reason: 'unauthenticated' | 'not_found' };

const ALLOW: Verdict = { allow: true };
const NOT_FOUND: Verdict = { allow: false, reason: 'not_found' };
const UNAUTHENTICATED: Verdict = { allow: false, reason: 'unauthenticated' };

export function ruleOf(action: string): Rule | undefined {
  return TABLE.get(action);
}

/** May the call be looked at at all? Decided before a body is read and before any session is. */
export function admit(action: string, facts: Omit<Facts, 'sessionOwner'>): Verdict {
  const rule = ruleOf(action);
  if (rule === undefined) return NOT_FOUND;
  switch (rule) {
    case 'anybody':
      return ALLOW;
    case 'operator':
      return facts.operator ? ALLOW : UNAUTHENTICATED;
    case 'token_holder':
      return facts.caller?.via === 'token' ? ALLOW : UNAUTHENTICATED;
    case 'caller':
    case 'session_owner':
      return facts.caller === undefined ? UNAUTHENTICATED : ALLOW;
    default:
      return assertNever(rule);
  }
}

/** The full decision. A rule about a session is met by its owner alone. */
export function decide(action: string, facts: Facts): Verdict {
  const admitted = admit(action, facts);
  if (!admitted.allow || ruleOf(action) !== 'session_owner') return admitted;
  const owns = facts.sessionOwner !== undefined && facts.sessionOwner === facts.caller?.actor.id;
  return owns ? ALLOW : NOT_FOUND;
}
