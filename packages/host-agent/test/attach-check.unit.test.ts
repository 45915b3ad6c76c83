import { describe, expect, it } from 'vitest';
import { checkAttach } from '../src/attach-server.js';

const expected = { sessionId: '0b6c1f5e-8f0c-4a6e-9a61-6f1f3e7a2b11', epoch: 7, secret: 'ab'.repeat(32) };
const good = {
  session_id: expected.sessionId,
  harness_version: '0.1.0',
  attach_token: expected.secret,
  epoch: 7,
  last_event_seq: 0,
};

describe('who may attach', () => {
  it.each([
    ['the harness of this lease', good, undefined],
    ['another session', { ...good, session_id: '1b6c1f5e-8f0c-4a6e-9a61-6f1f3e7a2b11' }, 'unknown_session'],
    ['a wrong secret', { ...good, attach_token: 'cd'.repeat(32) }, 'bad_token'],
    ['a secret of another length', { ...good, attach_token: 'ab' }, 'bad_token'],
    ['no secret', { ...good, attach_token: '' }, 'bad_token'],
    ['an epoch that was never given', { ...good, epoch: 8 }, 'bad_token'],
    ['an earlier lease, which must end', { ...good, epoch: 6, attach_token: 'cd'.repeat(32) }, 'stale_epoch'],
  ] as const)('%s', (_who, attach, reason) => {
    expect(checkAttach(attach, expected)).toBe(reason);
  });
});
