// Which workspaces a session may be given. A path must be a folder whose real path lies below one
// of the configured roots and outside the data folder. What lies outside the roots is refused with
// the same words whether it exists or not.

import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, normalize, relative, sep } from 'node:path';
import type { Workspace } from '@engram/coordinator';
import { invalidBody } from './problem.js';

export interface WorkspaceRules {
  readonly roots: readonly string[];
  /** The workspace to store: a path becomes its real path. Throws `invalid_body`. */
  resolve(workspace: Workspace): Promise<Workspace>;
}

const FIELD = 'workspace.path';
const SETTING = 'ENGRAM_WORKSPACE_ROOTS';

export function isBelow(path: string, root: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

async function realOrSame(path: string): Promise<string> {
  return realpath(path).catch(() => normalize(path));
}

export function createWorkspaceRules(roots: readonly string[], dataDir: string | undefined): WorkspaceRules {
  async function resolvePath(path: string): Promise<string> {
    if (roots.length === 0) {
      throw invalidBody(FIELD, `this server takes no local folders; whoever runs it can allow some with ${SETTING}`);
    }
    if (!isAbsolute(path)) throw invalidBody(FIELD, 'must be an absolute path, such as /home/you/project');
    const realRoots = await Promise.all(roots.map(realOrSame));
    const real = await realpath(path).catch(() => undefined);
    const outside = invalidBody(
      FIELD,
      `lies outside the folders allowed here (${roots.join(', ')}); choose one below them, or add its parent to ${SETTING}`,
    );
    if (real === undefined) {
      const plain = normalize(path);
      if ([...roots, ...realRoots].some((root) => isBelow(plain, root))) {
        throw invalidBody(FIELD, 'does not exist or cannot be entered; make the folder first');
      }
      throw outside;
    }
    if (!realRoots.some((root) => isBelow(real, root))) throw outside;
    if (dataDir !== undefined && isBelow(real, await realOrSame(dataDir))) {
      throw invalidBody(FIELD, `lies inside Engram's own data folder; choose a folder outside it (${SETTING})`);
    }
    const found = await stat(real).catch(() => undefined);
    if (!found?.isDirectory()) throw invalidBody(FIELD, 'is not a folder');
    return real;
  }

  return {
    roots,
    async resolve(workspace) {
      return workspace.kind === 'path' ? { kind: 'path', path: await resolvePath(workspace.path) } : workspace;
    },
  };
}
