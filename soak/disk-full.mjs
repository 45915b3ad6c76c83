// `node soak/disk-full.mjs`: PostgreSQL on a small disk of its own (a tmpfs in a mount namespace, gone with this
// process) that is filled while a server takes prompts. Prints one JSON document: what was answered while the disk
// was full, whether it went on by itself when there was room again, what an own start on a full disk says, and what
// became of everything that had been accepted. Exit code 77: no small disk can be made here.

import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const INSIDE = 'inside-mount-namespace';

if (process.argv[2] !== INSIDE) {
  const flags = process.getuid?.() === 0 ? ['--mount'] : ['--user', '--map-root-user', '--mount'];
  if (spawnSync('unshare', [...flags, 'sh', '-c', 'mount -t tmpfs -o size=1m tmpfs /mnt']).status !== 0) {
    process.stderr.write('no mount namespace can be made here\n');
    process.exit(77);
  }
  const args = [...flags, process.execPath, fileURLToPath(import.meta.url), INSIDE];
  process.exit(spawnSync('unshare', args, { stdio: 'inherit' }).status ?? 1);
}

const { startEmbeddedPostgres } = await import('@engram/coordinator');
const { openRunDir } = await import('@engram/host-agent');
const { spawnPart, toDatabaseUrl, waitFor } = await import('@engram/testkit');
const { pino } = await import('pino');

const root = mkdtempSync(join(tmpdir(), 'engram-full-'));
const disk = join(root, 'disk');
const serverDir = join(root, 'server');
mkdirSync(disk);
mkdirSync(serverDir, { mode: 0o700 });
execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=160m,mode=700', 'tmpfs', disk]);
const dataDir = join(disk, 'data');
mkdirSync(dataDir, { mode: 0o700 });
const log = pino({ level: 'silent' });
const startPostgres = async () =>
  startEmbeddedPostgres({ dataDir, runDir: await openRunDir(dataDir), log, settings: { max_wal_size: '48MB' } });

const TOKEN = 'a-token-for-the-full-disk-0123456789abcdef';
let postgres = await startPostgres();
let isUp = true;
const watchExit = () =>
  void postgres.exited.then(() => {
    isUp = false;
  });
watchExit();
const server = spawnPart({
  part: 'serve',
  databaseUrl: toDatabaseUrl(postgres.connectionConfig),
  dataDir: serverDir,
  args: ['--port', '0'],
  env: { ENGRAM_API_TOKEN: TOKEN, ENGRAM_LOG_LEVEL: 'error' },
});

const { url } = await server.ready;

async function call(method, path, body) {
  const reply = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  return {
    status: reply.status,
    retryAfter: reply.headers.get('retry-after'),
    json: text.startsWith('{') ? JSON.parse(text) : undefined,
  };
}

function fill() {
  const path = join(disk, 'ballast');
  const file = openSync(path, 'w');
  const block = Buffer.alloc(256 * 1024);
  for (;;) {
    try {
      if (writeSync(file, block) < block.length) break;
    } catch {
      break;
    }
  }
  closeSync(file);
  return () => rmSync(path);
}

const accepted = new Set();
const { json: session } = await call('POST', '/api/v1/sessions', { title: 'full', workspace: { kind: 'empty' } });
/** Does not compress, so that it takes room. */
const words = () => Array.from({ length: 2_000 }, () => randomUUID()).join('');
async function prompt(promptId = randomUUID()) {
  const reply = await call('POST', `/api/v1/sessions/${session.id}/prompts`, { text: words(), prompt_id: promptId });
  if (reply.status === 202) accepted.add(promptId);
  return { promptId, ...reply };
}

const result = { refused: undefined, read_while_full: undefined, ready_while_full: undefined, other_statuses: [] };
try {
  for (let n = 0; n < 5; n += 1) await prompt();
  let free = fill();
  for (let n = 0; n < 600 && result.refused === undefined; n += 1) {
    const reply = await prompt();
    if (reply.status === 503)
      result.refused = { ...reply.json, retry_after: Number(reply.retryAfter), prompt_id: reply.promptId };
    else if (reply.status !== 202) result.other_statuses.push(reply.status);
  }
  result.postgres_lived = isUp;
  result.read_while_full = (await call('GET', `/api/v1/sessions/${session.id}/events?limit=10`)).status;
  result.ready_while_full = (await call('GET', '/readyz')).status;
  result.alive_while_full = (await call('GET', '/healthz')).status;
  free();
  // The same prompt again, as a client does that was told to come back.
  const again = Date.now();
  await waitFor(async () => (await prompt(result.refused?.prompt_id)).status === 202, 20_000, 'the prompt to be taken');
  result.recovered_ms = Date.now() - again;
  result.ready_again = await waitFor(async () => (await call('GET', '/readyz')).status === 200, 10_000, 'ready').then(
    () => true,
  );

  // Until it cannot even write its log: it ends, and a start on the full disk says why.
  free = fill();
  for (let n = 0; n < 60 && isUp; n += 1) await prompt();
  if (isUp) process.kill(postgres.pid, 'SIGKILL');
  result.ended_by_itself = !isUp;
  await postgres.exited;
  result.start_on_full_disk = await startPostgres().then(
    async (started) => {
      await started.stop();
      return { code: 'started' };
    },
    (error) => ({ code: error.code, message: error.message }),
  );
  free();
  postgres = await startPostgres();
  await waitFor(async () => (await prompt()).status === 202, 20_000, 'prompts to be taken after the restart');

  const events = [];
  for (;;) {
    const { json } = await call(
      'GET',
      `/api/v1/sessions/${session.id}/events?since=${events.at(-1)?.idx ?? 0}&limit=500`,
    );
    events.push(...json.events);
    if (json.events.length < 500) break;
  }
  const stored = events.filter((event) => event.type === 'prompt_received').map((event) => event.prompt_id);
  result.accepted = accepted.size;
  result.lost = [...accepted].filter((id) => !stored.includes(id)).length;
  result.doubled = stored.length - new Set(stored).size;
  result.gaps = events.filter((event, at) => event.idx !== at + 1).length;
  process.stdout.write(`${JSON.stringify(result)}\n`);
} catch (error) {
  process.stderr.write(`${error.stack}\n${JSON.stringify(result)}\n${server.stderr()}\n`);
  process.exitCode = 1;
} finally {
  server.kill('SIGKILL');
  await server.exited;
  await postgres.stop().catch(() => undefined);
  execFileSync('umount', ['-l', disk]);
  rmSync(root, { recursive: true, force: true });
}
