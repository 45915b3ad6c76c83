// The policy table: who may do what, and that silence means no.

import { describe, expect, it } from 'vitest';
import { allRoutes } from '../src/all-routes.js';
import { admit, type Caller, decide, ruleOf } from '../src/policy.js';

const owner: Caller = { actor: { id: 'local', name: 'you' }, via: 'token' };
const browser: Caller = { actor: { id: 'local', name: 'you' }, via: 'cookie' };
const other: Caller = { actor: { id: 'mallory', name: 'Mallory' }, via: 'token' };

describe('policy', () => {
  it('denies an action that has no entry, also to the owner', () => {
    for (const action of ['session.destroy', '', '__proto__', 'constructor', 'toString']) {
      expect(decide(action, { caller: owner, operator: true, sessionOwner: 'local' })).toEqual({
        allow: false,
        reason: 'not_found',
      });
    }
  });

  it('cannot tell an unknown session from one of somebody else', () => {
    const unknown = decide('session.read', { caller: other, operator: false, sessionOwner: undefined });
    const foreign = decide('session.read', { caller: other, operator: false, sessionOwner: 'local' });
    expect(unknown).toEqual(foreign);
    expect(unknown).toEqual({ allow: false, reason: 'not_found' });
  });

  it('lets the owner in by token and by cookie', () => {
    for (const caller of [owner, browser]) {
      expect(decide('session.converse', { caller, operator: false, sessionOwner: 'local' })).toEqual({ allow: true });
    }
  });

  it('asks for an identity before it looks at any session', () => {
    for (const action of ['session.read', 'session.manage', 'session.converse', 'sessions.list']) {
      expect(admit(action, { caller: undefined, operator: true })).toEqual({ allow: false, reason: 'unauthenticated' });
    }
  });

  it('gives login links to a bearer token only', () => {
    expect(admit('login_links.create', { caller: owner, operator: false }).allow).toBe(true);
    expect(admit('login_links.create', { caller: browser, operator: false }).allow).toBe(false);
  });

  it('shows figures to the operator alone, not to an owner', () => {
    expect(admit('metrics.read', { caller: owner, operator: false }).allow).toBe(false);
    expect(admit('metrics.read', { caller: undefined, operator: true }).allow).toBe(true);
  });

  it('has an entry for every route, and one and the same for prompting, answering, dismissing and attending', () => {
    for (const { spec } of allRoutes) expect(ruleOf(spec.action), spec.operationId).toBeDefined();
    const actions = new Map(allRoutes.map(({ spec }) => [spec.operationId, spec.action]));
    for (const id of ['sendPrompt', 'answerQuestion', 'dismissQuestion', 'attendQuestion', 'editPrompt']) {
      expect(actions.get(id), id).toBe('session.converse');
    }
  });

  it('puts every path below a session under a rule about its owner', () => {
    for (const { spec } of allRoutes.filter((route) => route.spec.path.includes('{id}'))) {
      expect(ruleOf(spec.action), spec.operationId).toBe('session_owner');
    }
  });
});
