// Who owns a data folder: the process that holds a bound socket named after it. The kernel frees the
// name when that process dies, however it dies, so there is nothing stale to judge. Whoever connects
// is told the owner's pid and URL.
//
// On Linux the name lives in the abstract namespace; elsewhere one of three loopback ports derived
// from the folder does the same.

import { createHash } from 'node:crypto';
import { connect, createServer, type ListenOptions, type Server } from 'node:net';

export interface Owner {
  readonly pid: number;
  readonly url?: string;
}

export interface OwnerLock {
  /** What a second start is told from now on. */
  setUrl(url: string): void;
  release(): Promise<void>;
}

const MARK = 'engram-owner';
const ASK_MS = 1_500;

function addresses(realDataDir: string): readonly ListenOptions[] {
  const key = createHash('sha256').update(realDataDir).digest();
  if (process.platform === 'linux') return [{ path: `\0${MARK}-${key.toString('hex').slice(0, 32)}` }];
  return [0, 2, 4].map((offset) => ({ host: '127.0.0.1', port: 20_000 + (key.readUInt16BE(offset) % 20_000) }));
}

/** Gives the lock, or the living owner. `realDataDir` must be a real path. */
export async function takeOwnerLock(realDataDir: string): Promise<{ lock: OwnerLock } | { owner: Owner }> {
  for (;;) {
    const owner = await findOwner(realDataDir);
    if (owner !== undefined) return { owner };
    for (const address of addresses(realDataDir)) {
      const lock = await tryBind(address, realDataDir);
      if (lock !== undefined) return { lock };
    }
    // Taken between the question and the bind (or by a stranger): ask again, who it is will answer.
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The process that owns this data folder now, if any. */
export async function findOwner(realDataDir: string): Promise<Owner | undefined> {
  for (const address of addresses(realDataDir)) {
    const owner = await ask(address, realDataDir);
    if (owner !== undefined) return owner;
  }
  return undefined;
}

function tryBind(address: ListenOptions, realDataDir: string): Promise<OwnerLock | undefined> {
  let url: string | undefined;
  return new Promise((resolve, reject) => {
    const server: Server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.end(`${JSON.stringify({ mark: MARK, folder: realDataDir, pid: process.pid, url })}\n`);
    });
    server.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen(address, () =>
      resolve({
        setUrl(next) {
          url = next;
        },
        release: () => new Promise((done) => server.close(() => done())),
      }),
    );
    server.unref();
  });
}

function ask(address: ListenOptions, realDataDir: string): Promise<Owner | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const socket = address.path === undefined ? connect(address.port ?? 0, address.host) : connect(address.path);
    const finish = (): void => {
      socket.destroy();
      resolve(parseOwner(text, realDataDir));
    };
    socket.setTimeout(ASK_MS, finish);
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (text.length > 16_384) finish();
    });
    socket.on('end', finish);
    socket.on('error', finish);
  });
}

function parseOwner(text: string, realDataDir: string): Owner | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return undefined;
    if (!('mark' in value) || value.mark !== MARK || !('folder' in value) || value.folder !== realDataDir)
      return undefined;
    if (!('pid' in value) || typeof value.pid !== 'number') return undefined;
    return { pid: value.pid, ...('url' in value && typeof value.url === 'string' ? { url: value.url } : {}) };
  } catch {
    return undefined;
  }
}
