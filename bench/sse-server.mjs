// The public door alone in its process, for benches: `start` opens it, `memory` collects garbage and
// tells what is used, `cpu` tells the processor time so far, `counts` the open streams.

import { fileURLToPath } from 'node:url';
import { createCoordinator } from '@engram/coordinator';
import { createOrchestrator } from '@engram/orchestrator';
import { log, sleep } from './stage.mjs';

let coordinator;
let door;

async function answer(question) {
  switch (question.type) {
    case 'start':
      coordinator = await createCoordinator({ connection: question.connection, log });
      door = await createOrchestrator({
        desk: coordinator,
        log,
        host: '127.0.0.1',
        port: 0,
        webRoot: fileURLToPath(new URL('../packages/web/dist', import.meta.url)),
        workspaceRoots: [],
        statusInfo: { version: 'bench' },
        holdMs: 120_000,
      });
      return { port: door.port };
    case 'memory': {
      for (let i = 0; i < 4; i += 1) {
        globalThis.gc?.();
        await sleep(100);
      }
      const { rss, heapUsed, external } = process.memoryUsage();
      return { rss, heapUsed, external };
    }
    case 'cpu':
      return process.cpuUsage();
    case 'counts': {
      const text = await (await fetch(`${door.url}/metrics`)).text();
      const figure = (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
      return { streams: figure('engram_sse_streams'), feeds: figure('engram_sse_sessions_watched') };
    }
    default:
      throw new Error(`no such question: ${question.type}`);
  }
}

process.on('message', async (question) => {
  if (question.type === 'stop') {
    await door?.close();
    await coordinator?.close();
    process.exit(0);
  }
  process.send(await answer(question));
});
process.on('disconnect', () => process.exit(0));
