// Objects in a bucket that speaks the S3 protocol: put, get, list and delete, signed by version 4. An
// object is at most a pack or a list of files, so nothing is sent in parts. What may pass is tried again.

import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { AwsClient } from 'aws4fetch';
import { type BlobStore, checkKey } from './blob-store.js';
import { forEachLimited } from './limited.js';
import { StoreError } from './store-error.js';

export interface S3Place {
  readonly bucket: string;
  /** Without slashes at its ends; may be empty. */
  readonly prefix: string;
  readonly region: string;
  /** Undefined: Amazon's own. */
  readonly endpoint?: string;
  /** `https://host/bucket/key` instead of `https://bucket.host/key`. */
  readonly pathStyle: boolean;
}

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

const TRIES = 5;
const FIRST_WAIT_MS = 100;
const ATTEMPT_MS = 60_000;
const DELETES_AT_ONCE = 8;

export function createS3Blobs(place: S3Place, credentials: S3Credentials): BlobStore {
  const name = `bucket ${place.bucket}${place.prefix === '' ? '' : `/${place.prefix}`}`;
  const base = baseUrl(place);
  const client = new AwsClient({ ...credentials, service: 's3', region: place.region, retries: 0 });
  const within = place.prefix === '' ? '' : `${place.prefix}/`;
  const urlOf = (key: string): string => `${base}/${within}${checkKey(key)}`;

  /** Gives what is not worth another try; throws when nothing came of all tries. */
  async function send(
    url: string,
    init: { method: string; body?: Uint8Array; headers?: Record<string, string> },
  ): Promise<Answer> {
    let last: unknown;
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      if (attempt > 0) await pause(FIRST_WAIT_MS * 2 ** (attempt - 1));
      try {
        const signed = await client.sign(url, {
          method: init.method,
          headers: {
            ...init.headers,
            'x-amz-content-sha256': createHash('sha256')
              .update(init.body ?? '')
              .digest('hex'),
          },
          ...(init.body === undefined ? {} : { body: init.body }),
        });
        const response = await fetch(signed, { signal: AbortSignal.timeout(ATTEMPT_MS) });
        const bytes = Buffer.from(await response.arrayBuffer());
        if (response.status < 500 && response.status !== 429) return { status: response.status, bytes };
        last = describe(response.status, bytes);
      } catch (error) {
        last = error;
      }
    }
    const why = last instanceof Error ? `${last.message}${reasonOf(last.cause)}` : String(last);
    throw new StoreError(
      'store_unreachable',
      `The store (${name}) does not answer: ${why}. Check the endpoint in ENGRAM_STORE and that it can be reached from this host.`,
      { cause: last },
    );
  }

  function refuse({ status, bytes }: Answer): StoreError {
    const why = describe(status, bytes);
    if (/<Code>(QuotaExceeded|XMinioStorageFull)<\/Code>/.test(bytes.toString('utf8')))
      return new StoreError('store_full', `The store (${name}) is full: ${why}. Free some space in it.`);
    return new StoreError(
      'store_refused',
      `The store (${name}) refused: ${why}. Check the bucket and region in ENGRAM_STORE, and AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`,
    );
  }

  return {
    name,
    async put(key, bytes) {
      const answer = await send(urlOf(key), { method: 'PUT', body: bytes });
      if (answer.status !== 200) throw refuse(answer);
    },
    async putNew(key, bytes) {
      const answer = await send(urlOf(key), { method: 'PUT', body: bytes, headers: { 'if-none-match': '*' } });
      if (answer.status === 412 || answer.status === 409) return false;
      if (answer.status !== 200) throw refuse(answer);
      return true;
    },
    async get(key) {
      const answer = await send(urlOf(key), { method: 'GET' });
      if (answer.status === 404 && !/<Code>NoSuchBucket<\/Code>/.test(answer.bytes.toString('utf8'))) return undefined;
      if (answer.status !== 200) throw refuse(answer);
      return answer.bytes;
    },
    async list(prefix) {
      checkKey(prefix.replace(/\/$/, ''));
      const keys: string[] = [];
      for (let token: string | undefined = ''; token !== undefined; ) {
        const query = new URLSearchParams({ 'list-type': '2', prefix: `${within}${prefix}` });
        if (token !== '') query.set('continuation-token', token);
        const answer = await send(`${base}/?${query.toString().replaceAll('+', '%20')}`, { method: 'GET' });
        if (answer.status !== 200) throw refuse(answer);
        const text = answer.bytes.toString('utf8');
        keys.push(...tagged(text, 'Key').map((key) => key.slice(within.length)));
        token = tagged(text, 'IsTruncated')[0] === 'true' ? tagged(text, 'NextContinuationToken')[0] : undefined;
      }
      return keys;
    },
    async remove(keys) {
      await forEachLimited(keys, DELETES_AT_ONCE, async (key) => {
        const answer = await send(urlOf(key), { method: 'DELETE' });
        if (answer.status !== 204 && answer.status !== 200 && answer.status !== 404) throw refuse(answer);
      });
    },
  };
}

interface Answer {
  readonly status: number;
  readonly bytes: Buffer;
}

function baseUrl({ bucket, region, endpoint, pathStyle }: S3Place): string {
  const url = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  const path = url.pathname.replace(/\/$/, '');
  return pathStyle ? `${url.origin}${path}/${bucket}` : `${url.protocol}//${bucket}.${url.host}${path}`;
}

/** The answers to a listing hold no nesting that a search for the tag would mistake. */
function tagged(xml: string, tag: string): readonly string[] {
  return [...xml.matchAll(new RegExp(`<${tag}>([^<]*)</${tag}>`, 'g'))].map((match) => toPlain(match[1] ?? ''));
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function toPlain(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|([a-z]+));/gi, (whole, decimal, hex, word) => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return ENTITIES[word] ?? whole;
  });
}

function describe(status: number, bytes: Buffer): string {
  const text = bytes.toString('utf8');
  const [code, message] = [tagged(text, 'Code')[0], tagged(text, 'Message')[0]];
  return [`status ${status}`, code, message].filter((part) => part !== undefined && part !== '').join(', ');
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return '';
  return ` (${'code' in cause ? String(cause.code) : cause.message})`;
}
