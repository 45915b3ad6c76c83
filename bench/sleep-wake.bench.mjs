// A session's files on their way to the store and back: the first sleep of a workspace of 200 MB, a
// second sleep after a small change, and a wake on a host that has nothing of it yet. The parts are
// those that a host uses; agent and database are left out. The floors, measured in the same run on the
// same disk: a plain copy of the tree, synced, and a tar of it.
//
//   npm run bench -- sleep-wake --megabytes 200 --rounds 5

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { openStore } from '@engram/host-agent';
import { record, summarize } from './record.mjs';

const { values } = parseArgs({
  options: { megabytes: { type: 'string', default: '200' }, rounds: { type: 'string', default: '5' } },
});
const [megabytes, rounds] = [values.megabytes, values.rounds].map(Number);
const log = { child: () => log, info() {}, warn() {}, error() {}, debug() {} };
const session = '11111111-2222-3333-4444-555555555555';
const base = fs.mkdtempSync(path.join(os.tmpdir(), 'engram-bench-'));
const timed = async (series, work) => {
  const begun = performance.now();
  const result = await work();
  series.push(performance.now() - begun);
  return result;
};

/** Half of it in small files, as sources and packages are, half in a few large ones. */
function furnish(root) {
  const half = (megabytes * 2 ** 20) / 2;
  let files = 0;
  for (let left = half; left > 0; files += 1) {
    const size = Math.min(left, 4_000 + ((files * 7919) % 44_000));
    const folder = path.join(root, 'workspace', 'src', `part-${files % 61}`);
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, `file-${files}.bin`), randomBytes(size));
    left -= size;
  }
  for (let at = 0; at < 4; at += 1) {
    fs.writeFileSync(path.join(root, 'workspace', `large-${at}.bin`), randomBytes(half / 4));
  }
  for (const name of ['home/.claude', 'state']) fs.mkdirSync(path.join(root, name), { recursive: true });
  fs.writeFileSync(path.join(root, 'home/.claude/conversation.jsonl'), randomBytes(2 ** 20).toString('hex'));
  return files + 5;
}

const series = { first: [], second: [], unchanged: [], wake: [], wakeNear: [], copy: [], tar: [], untar: [] };
let files = 0;
let secondPut = 0;
try {
  for (let round = 0; round < rounds; round += 1) {
    const dir = path.join(base, `r${round}`);
    const root = path.join(dir, 'a', session);
    fs.mkdirSync(path.join(dir, 'store'), { recursive: true });
    fs.mkdirSync(path.join(dir, 'b'), { recursive: true });
    files = furnish(root);
    // The agent has been quiet for its soft time-out.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const store = await openStore({ address: `file://${dir}/store`, key: randomBytes(32).toString('hex') }, log);
    const save = (epoch) =>
      store.save(
        {
          sessionId: session,
          root,
          epoch,
          tops: ['home', 'state', 'workspace'],
          isLeftOut: () => false,
          workspace: path.join(root, 'workspace'),
        },
        new AbortController().signal,
      );
    const near = path.join(dir, 'b', session);
    const { manifest } = await timed(series.first, () => save(1));
    await store.restore({ sessionId: session, root: near }, manifest);
    fs.writeFileSync(path.join(root, 'workspace/src/part-7/changed.txt'), `round ${round}\n`);
    fs.appendFileSync(path.join(root, 'home/.claude/conversation.jsonl'), randomBytes(50_000).toString('hex'));
    const second = await timed(series.second, () => save(2));
    secondPut = second.putBytes;
    await timed(series.unchanged, () => save(3));
    await timed(series.wake, () =>
      store.restore({ sessionId: session, root: path.join(dir, 'c', session) }, second.manifest),
    );
    await timed(series.wakeNear, () => store.restore({ sessionId: session, root: near }, second.manifest));
    await timed(series.copy, () =>
      execFileSync('sh', ['-c', 'cp -a "$1" "$2" && sync -f "$2"', 'sh', root, `${dir}/copy`]),
    );
    await timed(series.tar, () =>
      execFileSync('sh', ['-c', 'tar -cf "$2" -C "$1" . && sync "$2"', 'sh', root, `${dir}/t.tar`]),
    );
    fs.mkdirSync(`${dir}/untar`);
    await timed(series.untar, () => execFileSync('tar', ['-xf', `${dir}/t.tar`, '-C', `${dir}/untar`]));
    fs.rmSync(dir, { recursive: true, force: true });
  }
  const p50 = (name) => summarize(series[name]).p50;
  const ratio = (a, b, bound) => ({
    value: Math.round((p50(a) / p50(b)) * 100) / 100,
    of: [a, b],
    ...(bound === undefined ? {} : { bound }),
  });
  record('sleep-wake', {
    command: `npm run bench -- sleep-wake --megabytes ${megabytes} --rounds ${rounds}`,
    series: Object.fromEntries(Object.entries(series).map(([name, samples]) => [name, { unit: 'ms', samples }])),
    ratios: {
      'first sleep / copy': ratio('first', 'copy'),
      'first sleep / tar': ratio('first', 'tar'),
      'wake elsewhere / untar': ratio('wake', 'untar'),
      'second sleep (s)': { value: Math.round(p50('second')) / 1000, of: ['second'], bound: '<= 1' },
    },
    facts: { megabytes, files, encrypted: true, store: 'folder on the same disk', second_put_bytes: secondPut },
  });
} finally {
  fs.rmSync(base, { recursive: true, force: true });
}
