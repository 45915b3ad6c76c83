// A small server that speaks as much of the S3 protocol as a store needs, and checks every signature
// by its own reckoning (AWS Signature Version 4, from its specification), so that a wrong one is seen.

import { createHash, createHmac } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export const S3_CREDENTIALS = { accessKeyId: 'AKTEST', secretAccessKey: 'secret/of+tests' };
export const S3_REGION = 'eu-test-1';

export interface S3TestServer {
  readonly endpoint: string;
  readonly objects: Map<string, Buffer>;
  readonly requests: string[];
  /** The next answers are this status instead. */
  failNext(count: number, status?: number): void;
  close(): Promise<void>;
}

const PAGE = 3;

export async function startS3TestServer(bucket: string): Promise<S3TestServer> {
  const objects = new Map<string, Buffer>();
  const requests: string[] = [];
  let failures = 0;
  let failure = 503;

  function answer(request: http.IncomingMessage, body: Buffer): Reply {
    const url = new URL(request.url ?? '/', 'http://s3.test');
    requests.push(`${request.method} ${request.url}`);
    if (failures > 0) {
      failures -= 1;
      return refusal(failure, 'SlowDown', 'again');
    }
    const wrong = signatureProblem(request, url, body);
    if (wrong !== undefined) return refusal(403, 'SignatureDoesNotMatch', wrong);
    const [, first = '', ...rest] = url.pathname.split('/');
    if (first !== bucket) return refusal(404, 'NoSuchBucket', 'no such bucket');
    const key = decodeURIComponent(rest.join('/'));
    if (key === '') return list(url);
    if (request.method === 'PUT') {
      if (request.headers['if-none-match'] === '*' && objects.has(key))
        return refusal(412, 'PreconditionFailed', 'it is there');
      objects.set(key, body);
      return { status: 200, body: '' };
    }
    if (request.method === 'DELETE') {
      objects.delete(key);
      return { status: 204, body: '' };
    }
    const found = objects.get(key);
    return found === undefined ? refusal(404, 'NoSuchKey', 'no such key') : { status: 200, body: found };
  }

  function list(url: URL): Reply {
    const prefix = url.searchParams.get('prefix') ?? '';
    const after = url.searchParams.get('continuation-token') ?? '';
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).sort();
    const rest = keys.filter((key) => key > after);
    const page = rest.slice(0, PAGE);
    const more = rest.length > PAGE;
    const contents = page.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('');
    const next = more ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    const body = `<ListBucketResult><IsTruncated>${more}</IsTruncated>${contents}${next}</ListBucketResult>`;
    return { status: 200, body };
  }

  const server = http.createServer((request, reply) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { status, body } = answer(request, Buffer.concat(parts));
      reply.writeHead(status).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    objects,
    requests,
    failNext(count, status = 503) {
      failures = count;
      failure = status;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

interface Reply {
  readonly status: number;
  readonly body: string | Buffer;
}

function refusal(status: number, code: string, message: string): Reply {
  return { status, body: `<Error><Code>${code}</Code><Message>${message}</Message></Error>` };
}

function signatureProblem(request: http.IncomingMessage, url: URL, body: Buffer): string | undefined {
  const { headers } = request;
  const parts =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (parts === null) return 'no signature';
  const [, id, day = '', region = '', signedHeaders = '', signature] = parts;
  if (id !== S3_CREDENTIALS.accessKeyId || region !== S3_REGION) return 'unknown key or region';
  const bodyHash = createHash('sha256').update(body).digest('hex');
  if (headers['x-amz-content-sha256'] !== bodyHash) return 'the body is not the one that was signed';
  const encode = (text: string): string =>
    encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  const query = [...url.searchParams]
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  const path = url.pathname
    .split('/')
    .map((part) => encode(decodeURIComponent(part)))
    .join('/');
  const lines = signedHeaders.split(';').map((name) => `${name}:${String(headers[name] ?? '').trim()}\n`);
  const canonical = [request.method, path, query, lines.join(''), signedHeaders, bodyHash].join('\n');
  const at = String(headers['x-amz-date']);
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', at, scope, createHash('sha256').update(canonical).digest('hex')].join('\n');
  const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
  const key = hmac(hmac(hmac(hmac(`AWS4${S3_CREDENTIALS.secretAccessKey}`, day), region), 's3'), 'aws4_request');
  return hmac(key, toSign).toString('hex') === signature ? undefined : 'the signature is wrong';
}
