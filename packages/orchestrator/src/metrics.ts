// Figures for /metrics. What the process counts is counted here; what the database knows is asked
// for at scrape time. Labels come from the route table, never from a request.

import type { SessionDesk } from '@engram/coordinator';
import type { Logger } from 'pino';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { StreamMeters } from './event-stream.js';

export interface DoorMetrics {
  readonly streams: StreamMeters;
  readonly contentType: string;
  /** Without seconds for a stream, whose length says nothing. */
  requestDone(route: string, method: string, status: number, seconds: number | undefined): void;
  watchStreams(counts: () => { readonly streams: number; readonly feeds: number }): void;
  render(): Promise<string>;
}

export function createMetrics(desk: Pick<SessionDesk, 'figures'>, log: Logger): DoorMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const requests = new Counter({
    name: 'engram_http_requests_total',
    help: 'Requests answered, by route, method and status.',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const seconds = new Histogram({
    name: 'engram_http_request_seconds',
    help: 'Time to answer, by route; event streams excluded.',
    labelNames: ['route', 'method'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  });
  const dropped = new Counter({
    name: 'engram_sse_chunks_dropped_total',
    help: 'Live text not sent to viewers whose connection was full.',
    registers,
  });
  const lagged = new Counter({
    name: 'engram_sse_lagged_total',
    help: 'Times a viewer was told that it lagged.',
    registers,
  });

  const up = new Gauge({ name: 'engram_database_up', help: '1 when the figures below could be read.', registers });
  const sessions = new Gauge({
    name: 'engram_sessions',
    help: 'Sessions by status.',
    labelNames: ['status'],
    registers,
  });
  const waiting = new Gauge({ name: 'engram_questions_waiting', help: 'Questions that wait for a person.', registers });
  const undelivered = new Gauge({
    name: 'engram_commands_undelivered',
    help: 'Commands accepted and not yet proven done.',
    registers,
  });
  const oldest = new Gauge({
    name: 'engram_commands_oldest_undelivered_seconds',
    help: 'Age of the oldest of them.',
    registers,
  });

  const unhanded = new Gauge({
    name: 'engram_commands_unhanded',
    help: 'Commands accepted that no harness has been handed yet: they wait for a host.',
    registers,
  });
  const oldestUnhanded = new Gauge({
    name: 'engram_commands_oldest_unhanded_seconds',
    help: 'Age of the oldest of them. More than a minute: no host takes work, or none has room.',
    registers,
  });
  const hosts = new Gauge({
    name: 'engram_hosts',
    help: 'Hosts that are alive, of these draining, and lost: silent without having left.',
    labelNames: ['state'],
    registers,
  });
  const slots = new Gauge({
    name: 'engram_host_slots',
    help: 'Sessions that may be awake at once on the hosts that take work.',
    registers,
  });
  const awake = new Gauge({ name: 'engram_sessions_awake', help: 'Sessions that a host holds now.', registers });
  const chunks = new Gauge({
    name: 'engram_live_chunks_dropped',
    help: 'Live text that hosts left out because it came faster than it could be passed on, since each started.',
    registers,
  });

  async function readFigures(): Promise<void> {
    try {
      const figures = await desk.figures();
      sessions.reset();
      for (const [status, n] of Object.entries(figures.sessionsByStatus)) sessions.set({ status }, n);
      waiting.set(figures.questionsWaiting);
      undelivered.set(figures.undeliveredCommands);
      oldest.set(figures.oldestUndeliveredMs / 1000);
      unhanded.set(figures.unhandedCommands);
      oldestUnhanded.set(figures.oldestUnhandedMs / 1000);
      for (const [state, n] of Object.entries(figures.hosts)) hosts.set({ state }, n);
      slots.set(figures.hostSlots);
      awake.set(figures.sessionsAwake);
      chunks.set(figures.chunksDropped);
      up.set(1);
    } catch (error) {
      log.warn({ err: error }, 'figures could not be read');
      up.set(0);
    }
  }

  return {
    contentType: registry.contentType,
    streams: { chunkDropped: () => dropped.inc(), lagged: () => lagged.inc() },
    requestDone(route, method, status, duration) {
      requests.inc({ route, method, status: String(status) });
      if (duration !== undefined) seconds.observe({ route, method }, duration);
    },
    watchStreams(counts) {
      new Gauge({
        name: 'engram_sse_streams',
        help: 'Open event streams.',
        registers,
        collect() {
          this.set(counts().streams);
        },
      });
      new Gauge({
        name: 'engram_sse_sessions_watched',
        help: 'Sessions with at least one open event stream.',
        registers,
        collect() {
          this.set(counts().feeds);
        },
      });
    },
    async render() {
      await readFigures();
      return registry.metrics();
    },
  };
}
