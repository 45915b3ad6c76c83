// Where session files are kept, as a person writes it: `file:///mnt/engram` or
// `s3://bucket/prefix?region=…&endpoint=https://…`. Pure; every problem is said with its next step.

import type { S3Credentials, S3Place } from './s3-blobs.js';

export type StoreAddress =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 's3'; readonly place: S3Place; readonly credentials: S3Credentials };

export interface StoreSettings {
  /** ENGRAM_STORE */
  readonly address: string;
  /** ENGRAM_STORE_KEY: 32 bytes as base64 or hex. */
  readonly key?: string;
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly sessionToken?: string;
  /** AWS_REGION */
  readonly region?: string;
}

export type StoreChoice =
  | { readonly ok: true; readonly address: StoreAddress; readonly key?: Uint8Array }
  | { readonly ok: false; readonly problems: readonly string[] };

const FORMS = 'file:///absolute/folder or s3://bucket/prefix?region=…&endpoint=https://…';
const S3_OPTIONS = ['region', 'endpoint', 'path_style'];
const DEFAULT_REGION = 'us-east-1';

export function parseStoreSettings(settings: StoreSettings): StoreChoice {
  const problems: string[] = [];
  const key = parseKey(settings.key, problems);
  const address = parseAddress(settings, problems);
  if (problems.length > 0 || address === undefined) return { ok: false, problems };
  return { ok: true, address, ...(key === undefined ? {} : { key }) };
}

function parseAddress(settings: StoreSettings, problems: string[]): StoreAddress | undefined {
  const { address } = settings;
  if (!URL.canParse(address)) {
    problems.push(`ENGRAM_STORE must be ${FORMS}, not "${address}"`);
    return undefined;
  }
  const url = new URL(address);
  if (url.username !== '' || url.password !== '') {
    problems.push('ENGRAM_STORE holds a password: give it in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead');
    return undefined;
  }
  if (url.protocol === 'file:') return parseFolder(url, problems);
  if (url.protocol === 's3:') return parseS3(url, settings, problems);
  problems.push(`ENGRAM_STORE must be ${FORMS}, not "${url.protocol}//…"`);
  return undefined;
}

function parseFolder(url: URL, problems: string[]): StoreAddress | undefined {
  if (url.host !== '' || url.search !== '' || url.hash !== '' || url.pathname === '/') {
    problems.push(`ENGRAM_STORE must name a folder as file:///absolute/folder, not "${url.href}"`);
    return undefined;
  }
  return { kind: 'folder', path: decodeURIComponent(url.pathname).replace(/\/+$/, '') };
}

function parseS3(url: URL, settings: StoreSettings, problems: string[]): StoreAddress | undefined {
  const before = problems.length;
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.hostname)) {
    problems.push(`ENGRAM_STORE must name a bucket as s3://bucket/prefix; "${url.hostname}" is none`);
  }
  const prefix = url.pathname.replace(/^\/+|\/+$/g, '');
  if (prefix !== '' && !/^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/.test(prefix)) {
    problems.push('the prefix in ENGRAM_STORE may hold letters, digits and ._- only, in parts separated by /');
  }
  for (const name of url.searchParams.keys()) {
    if (!S3_OPTIONS.includes(name)) problems.push(`ENGRAM_STORE takes ${S3_OPTIONS.join(', ')}, not "${name}"`);
  }
  const endpoint = url.searchParams.get('endpoint') ?? undefined;
  if (endpoint !== undefined && !(URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol))) {
    problems.push(`the endpoint in ENGRAM_STORE must begin with https:// or http://, not "${endpoint}"`);
  }
  const style = url.searchParams.get('path_style');
  if (style !== null && style !== 'true' && style !== 'false') {
    problems.push('path_style in ENGRAM_STORE is true or false');
  }
  const { accessKeyId, secretAccessKey, sessionToken } = settings;
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    problems.push('a store in a bucket needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  }
  if (problems.length > before || accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return {
    kind: 's3',
    place: {
      bucket: url.hostname,
      prefix,
      region: url.searchParams.get('region') ?? settings.region ?? DEFAULT_REGION,
      ...(endpoint === undefined ? {} : { endpoint }),
      // Servers of one's own seldom have a name for each bucket.
      pathStyle: style === null ? endpoint !== undefined : style === 'true',
    },
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
  };
}

function parseKey(text: string | undefined, problems: string[]): Uint8Array | undefined {
  if (text === undefined) return undefined;
  const bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64');
  if (bytes.length === 32 && /^[A-Za-z0-9+/=_-]+$/.test(text)) return bytes;
  problems.push('ENGRAM_STORE_KEY must be 32 bytes in base64 or hex; make one with `openssl rand -base64 32`');
  return undefined;
}
