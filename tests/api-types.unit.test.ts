// The page describes the API with types of its own, as any client would. Here the compiler holds
// them against the server's own: these values only type-check while both mean the same.

import type { CoordinatorEvent, Session } from '@engram/coordinator';
import { describe, expect, it } from 'vitest';
import type * as web from '../packages/web/src/api-types.js';

const toPage = (sent: Session): web.Session => sent;
const toServer = (expected: web.Session): Session => expected;
const eventToPage = (sent: CoordinatorEvent): web.CoordinatorEvent => sent;
const eventToServer = (expected: web.CoordinatorEvent): CoordinatorEvent => expected;

describe("the page's types of the API", () => {
  it('take a session and an event of the server as they are, and give them back', () => {
    const session: Session = {
      id: 's',
      title: 't',
      agent: 'claude',
      status: 'idle',
      running: false,
      awaiting: [],
      owner: 'local',
      workspace: { kind: 'empty' },
      created_at: '2026-01-01T00:00:00.000Z',
      updated_at: '2026-01-01T00:00:00.000Z',
      last_event_idx: 1,
      usage: { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, cost_micro_usd: 0 },
      undelivered: [],
    };
    expect(toServer(toPage(session))).toBe(session);
    const event: CoordinatorEvent = { type: 'session_deleted' };
    expect(eventToServer(eventToPage(event))).toBe(event);
  });
});
