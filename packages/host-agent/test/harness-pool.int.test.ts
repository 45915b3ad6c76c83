import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createHarnessPool, type HarnessPool } from '../src/harness-pool.js';
import { isProcessAlive } from './host-fixture.js';

const log = pino({ level: 'silent' });
let dataDir: string;
let pool: HarnessPool | undefined;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'eg-pool-'));
});
afterEach(async () => {
  await pool?.close();
  await rm(dataDir, { recursive: true, force: true });
});

function open(command: readonly string[], size = 2): HarnessPool {
  pool = createHarnessPool({ command, environment: { PATH: '/usr/bin:/bin' }, dataDir, size, refillDelayMs: 20, log });
  return pool;
}

describe('the pool of harnesses', () => {
  it('starts the wanted number ahead, writes their pids down and ends them when it closes', async () => {
    const opened = open(['sh', '-c', 'echo ready; exec sleep 60']);
    const records = async () =>
      (await readdir(join(dataDir, 'harnesses')).catch(() => [])).filter((name) => name.endsWith('.json'));
    for (let waited = 0; (await records()).length < 2 && waited < 10_000; waited += 20) await sleep(20);
    const pids = opened.waiting();
    expect(pids).toHaveLength(2);
    expect((await records()).sort()).toEqual(pids.map((pid) => `${pid}.json`).sort());
    await opened.close();
    for (const pid of pids) expect(await isProcessAlive(pid)).toBe(false);
    expect(await readdir(join(dataDir, 'harnesses'))).toEqual([]);
  });

  it('gives the assignment on stdin, and nothing of it in argv or environment', async () => {
    const script = join(dataDir, 'harness.sh');
    const seen = join(dataDir, 'seen');
    await writeFile(
      script,
      `read -r line; echo "$line" > ${seen}.part; env >> ${seen}.part; mv ${seen}.part ${seen}; exec sleep 60`,
    );
    const harness = open(['sh', script], 1).take();
    await harness.assign({
      session_id: 's',
      epoch: 1,
      socket_path: '/s',
      secret: 'hush',
      workspace: '/w',
      agent_home: '/h',
      state_dir: '/st',
      run_dir: '/r',
      claude_bin: '/c',
      hook_socket: '/k',
      launch: { exec_prefix: [], env: { SECRET: 'hush' } },
      hold_ms: 1,
    });
    let text = '';
    while (text === '') text = await readFile(seen, 'utf8').catch(() => '');
    const [line = '', ...environment] = text.split('\n');
    expect(JSON.parse(line)).toMatchObject({ session_id: 's', secret: 'hush' });
    expect(environment.join('\n')).not.toContain('hush');
    expect(await readFile(`/proc/${harness.pid}/cmdline`, 'latin1')).not.toContain('hush');
    await harness.end(100);
    await harness.forget();
  });

  it('fills its places when none was taken for a while, and does not put it off for ever', async () => {
    const command = ['sh', '-c', 'echo ready; exec sleep 60'];
    const environment = { PATH: '/usr/bin:/bin' };
    const opened = createHarnessPool({ command, environment, dataDir, size: 1, refillDelayMs: 500, log });
    pool = opened;
    const taken = [opened.take()];
    await sleep(300);
    taken.push(opened.take());
    await sleep(350);
    expect(opened.waiting()).toEqual([]);
    await sleep(400);
    expect(opened.waiting()).toHaveLength(1);
    let filled = 0;
    for (let at = 0; at < 10; at += 1) {
      taken.push(opened.take());
      await sleep(300);
      filled += opened.waiting().length;
    }
    expect(filled).toBeGreaterThan(0);
    for (const harness of taken) {
      await harness.end(100);
      await harness.forget();
    }
  });

  it('does not spin when harnesses die at their start', async () => {
    const starts = join(dataDir, 'starts');
    open(['sh', '-c', `echo x >> ${starts}; exit 1`], 1);
    await sleep(1_500);
    const count = (await readFile(starts, 'utf8')).trim().split('\n').length;
    expect(count).toBeGreaterThan(1);
    expect(count).toBeLessThan(5);
  });

  it('reports a program that is not there as an exit', async () => {
    const harness = open(['/nowhere/harness'], 0).take();
    expect(await harness.exited).toEqual({ code: 127 });
    await harness.end(0);
  });
});
