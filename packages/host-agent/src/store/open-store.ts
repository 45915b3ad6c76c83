// Opens the store that the settings name. Bad settings and a store that cannot be used are told at the
// start of the host, not at the first sleep.

import type { Logger } from 'pino';
import type { BlobStore } from './blob-store.js';
import { type FileStore, openFileStore } from './file-store.js';
import { createFolderBlobs } from './folder-blobs.js';
import { createS3Blobs } from './s3-blobs.js';
import { createSeal } from './seal.js';
import { parseStoreSettings, type StoreAddress, type StoreSettings } from './store-address.js';
import { StoreError } from './store-error.js';

export async function openStore(settings: StoreSettings, log: Logger): Promise<FileStore> {
  const choice = parseStoreSettings(settings);
  if (!choice.ok) throw new StoreError('store_refused', choice.problems.join('; '));
  const store = await openFileStore({ blobs: toBlobs(choice.address), seal: createSeal(choice.key), log });
  log.info(
    { store: store.name, storeId: store.id, encrypted: choice.key !== undefined },
    'store of session files is open',
  );
  return store;
}

function toBlobs(address: StoreAddress): BlobStore {
  return address.kind === 'folder'
    ? createFolderBlobs(address.path)
    : createS3Blobs(address.place, address.credentials);
}
