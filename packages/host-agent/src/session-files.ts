// The files of sessions between this host's disk and the store: brought here before a session starts
// when another host ran it last, put away when it goes to sleep and after each completed run. Without a
// store the files stay on this disk, and the database gives the session to this host.

import { randomBytes } from 'node:crypto';
import { rename, stat } from 'node:fs/promises';
import type { Claim, HostDesk, Workspace } from '@engram/coordinator';
import type { Logger } from 'pino';
import { pause } from './deadline.js';
import { removeTree } from './remove-tree.js';
import { type SessionFolder, sessionFolder, writeWorkspaceRecord } from './session-folder.js';
import { isErrno } from './socket-path.js';
import type { FileStore } from './store/file-store.js';
import { StoreError } from './store/store-error.js';

export interface SessionFilesOptions {
  readonly store: FileStore | undefined;
  readonly desk: Pick<HostDesk, 'commitFiles' | 'deletedInStore' | 'confirmDeletedInStore'>;
  readonly dataDir: string;
  readonly log: Logger;
}

export type Brought =
  /** `fellBack`: the newest files should have been on this disk and were not; older ones are, from the store. */
  | { readonly ok: true; readonly fellBack: boolean }
  | { readonly ok: false; readonly code: string; readonly message: string };

export interface PutAway {
  readonly sessionId: string;
  readonly epoch: number;
  readonly workspace: Workspace;
  /** Real path of the workspace. */
  readonly workspacePath: string;
}

export interface SessionFiles {
  /** Undefined without a store. */
  readonly storeId: string | undefined;
  /** Makes what is on this disk the newest there is; nothing is changed when that cannot be done. */
  bring(claim: Claim): Promise<Brought>;
  /** Stores the files and makes them the ones that count. Throws StoreError, or what the database throws. */
  putAway(what: PutAway, signal: AbortSignal): Promise<'stored' | 'stale_epoch'>;
  /** Objects of deleted sessions. */
  removeDeleted(): Promise<void>;
  /** A copy that only takes room. Moved aside at once, so that a session that comes back is not in the way. */
  dropCopy(sessionId: string): Promise<void>;
}

/** Credentials of a login never leave the host; the agent's process is this host's affair. */
const LEFT_OUT = new Set(['home/.claude/.credentials.json', 'state/agent.json']);
const BRING_RETRY_MS = [500, 2_000, 5_000];

export function createSessionFiles(options: SessionFilesOptions): SessionFiles {
  const { store, desk, dataDir } = options;

  async function bring(claim: Claim): Promise<Brought> {
    const { manifest, newestHere } = claim.files;
    const folder = sessionFolder(dataDir, claim.session.id);
    if (store === undefined || manifest === undefined) return { ok: true, fellBack: false };
    if (newestHere && (await isThere(folder.state))) return { ok: true, fellBack: false };
    const log = options.log.child({ sessionId: claim.session.id, epoch: claim.epoch });
    for (let attempt = 0; ; attempt += 1) {
      try {
        const begun = Date.now();
        const { files, fetchedBytes, savedAt } = await store.restore(
          { sessionId: claim.session.id, root: folder.root },
          manifest,
        );
        await recordWorkspace(claim.session.workspace, folder, savedAt.workspace);
        log.info(
          { files, fetchedBytes, tookMs: Date.now() - begun, moved: savedAt.root !== folder.root },
          'files are here',
        );
        return { ok: true, fellBack: newestHere && !claim.files.stored };
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        const wait = error.code === 'store_unreachable' ? BRING_RETRY_MS[attempt] : undefined;
        log.warn({ err: error, again: wait !== undefined }, 'files could not be brought here');
        if (wait === undefined) return { ok: false, code: error.code, message: error.message };
        await pause(wait);
      }
    }
  }

  return {
    storeId: store?.id,
    bring,

    async putAway({ sessionId, epoch, workspace, workspacePath }, signal) {
      if (store === undefined) return 'stored';
      const begun = Date.now();
      const log = options.log.child({ sessionId, epoch });
      const saved = await store.save(
        {
          sessionId,
          epoch,
          root: sessionFolder(dataDir, sessionId).root,
          tops: ['home', 'state', ...(workspace.kind === 'path' ? [] : ['workspace'])],
          isLeftOut: (path) => LEFT_OUT.has(path),
          workspace: workspacePath,
        },
        signal,
      );
      const { manifest, unstorable, restless, ...figures } = saved;
      signal.throwIfAborted();
      const outcome = await desk.commitFiles(sessionId, epoch, { storeId: store.id, manifest });
      log.info({ ...figures, tookMs: Date.now() - begun, counts: outcome.ok }, 'files are stored');
      if (unstorable.length > 0) log.warn({ count: unstorable.length }, 'sockets, pipes and devices were not stored');
      if (restless.length > 0) log.warn({ count: restless.length }, 'files changed while they were stored');
      if (!outcome.ok) return 'stale_epoch';
      await store
        .collect(sessionId, epoch, manifest)
        .catch((error: unknown) => log.warn({ err: error }, 'older objects of the session are still in the store'));
      return 'stored';
    },

    async dropCopy(sessionId) {
      const { root } = sessionFolder(dataDir, sessionId);
      const aside = `${root}.${randomBytes(4).toString('hex')}.old`;
      await rename(root, aside).catch((error: unknown) => {
        if (!isErrno(error, 'ENOENT')) throw error;
      });
      await removeTree(aside);
    },

    async removeDeleted() {
      if (store === undefined) return;
      for (const sessionId of await desk.deletedInStore(store.id)) {
        await store.remove(sessionId);
        await desk.confirmDeletedInStore(store.id, sessionId);
        options.log.info({ sessionId }, 'removed the stored files of a deleted session');
      }
    },
  };
}

/** A folder of our own lies where it was restored; a person's folder lies where it always was. */
async function recordWorkspace(workspace: Workspace, folder: SessionFolder, savedPath: string): Promise<void> {
  await writeWorkspaceRecord(folder, workspace.kind === 'path' ? savedPath : folder.workspace);
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
