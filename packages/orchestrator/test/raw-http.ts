// Bytes to a socket and back, for requests that no client library would send.

import { connect } from 'node:net';

export async function sendRaw(port: number, request: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    const timer = setTimeout(() => socket.destroy(), 5_000);
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      answer += text;
    });
    socket.on('error', reject);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answer);
    });
    socket.write(request);
  });
}

export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
}

export function problemOf(answer: string): { code?: string; status?: number } {
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
  const json: unknown = JSON.parse(body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1));
  return typeof json === 'object' && json !== null ? json : {};
}
