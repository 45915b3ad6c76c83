// The form in which an object lies in a store: a short header, then the bytes, encrypted when there
// is a key. AES-256-GCM with a random nonce; the object's own place in the store is authenticated
// with it, so that one object cannot stand in for another. Pure.
//
//   EGR1 · 0 · bytes                                         plain
//   EGR1 · 1 · key id (8) · nonce (12) · ciphertext · tag (16)   encrypted

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { StoreError } from './store-error.js';

export interface Seal {
  readonly encrypts: boolean;
  close(place: string, bytes: Uint8Array): Uint8Array;
  open(place: string, sealed: Uint8Array): Uint8Array;
}

const MAGIC = Buffer.from('EGR1');
const PLAIN = 0;
const ENCRYPTED = 1;
const HEADER_BYTES = MAGIC.length + 1;
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** `key` has 32 bytes. Without one nothing is encrypted, and encrypted objects cannot be read. */
export function createSeal(key: Uint8Array | undefined): Seal {
  const keyId =
    key === undefined ? undefined : createHash('sha256').update('engram store key').update(key).digest().subarray(0, 8);
  return {
    encrypts: key !== undefined,
    close(place, bytes) {
      if (key === undefined || keyId === undefined) return Buffer.concat([MAGIC, Buffer.of(PLAIN), bytes]);
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      cipher.setAAD(Buffer.from(place));
      const body = [cipher.update(bytes), cipher.final()];
      return Buffer.concat([MAGIC, Buffer.of(ENCRYPTED), keyId, nonce, ...body, cipher.getAuthTag()]);
    },
    open(place, sealed) {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      if (bytes.length < HEADER_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw damaged(place);
      const kind = bytes[MAGIC.length];
      if (kind === PLAIN) return bytes.subarray(HEADER_BYTES);
      if (kind !== ENCRYPTED || bytes.length < HEADER_BYTES + KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES)
        throw damaged(place);
      const id = bytes.subarray(HEADER_BYTES, HEADER_BYTES + KEY_ID_BYTES);
      if (key === undefined || keyId === undefined || !id.equals(keyId)) throw wrongKey(key !== undefined);
      const nonce = bytes.subarray(HEADER_BYTES + KEY_ID_BYTES, HEADER_BYTES + KEY_ID_BYTES + NONCE_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce);
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
      const body = bytes.subarray(HEADER_BYTES + KEY_ID_BYTES + NONCE_BYTES, bytes.length - TAG_BYTES);
      try {
        return Buffer.concat([decipher.update(body), decipher.final()]);
      } catch (cause) {
        throw damaged(place, cause);
      }
    },
  };
}

function damaged(place: string, cause?: unknown): StoreError {
  return new StoreError(
    'store_damaged',
    `The object ${place} of the store is damaged. Put the store back from a backup.`,
    { cause },
  );
}

function wrongKey(hasOne: boolean): StoreError {
  return new StoreError(
    'store_key',
    hasOne
      ? 'The files of this session are encrypted with another key. Start the host with the ENGRAM_STORE_KEY they were stored with.'
      : 'The files of this session are encrypted. Start the host with the ENGRAM_STORE_KEY they were stored with.',
  );
}
