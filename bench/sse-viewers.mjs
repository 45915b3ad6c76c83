// Many viewers in one process, made to cost little: bare sockets that read into one buffer, and of each event only its mark
// (`bench-<number>-<sent at, µs>.` in message_id) is read. Each viewer checks that its session's
// numbers follow on.
//
//   start {port, token, streams: [{sessionId, since}]} → when all are open     done → the figures

import { connect } from 'node:net';
import { everyNth, nowUs } from './stage.mjs';

const MARK = Buffer.from('bench-');
const MAY_BEGIN = Array.from({ length: MARK.length - 1 }, (_, at) => MARK.subarray(0, at + 1));
const DASH = 0x2d;
const shared = Buffer.alloc(256 * 1024);
const MOST = 4_000_000;

let latencies = new Float64Array(0);
let used = 0;
let arrived = 0;
let broken = 0;
let sockets = [];

function open({ port, token }, { sessionId, since }) {
  return new Promise((resolve, reject) => {
    const onread = { buffer: shared, callback: (length) => take(shared.subarray(0, length)) };
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread });
    let rest;
    let next = 0;
    let head = false;
    socket.on('error', reject);
    socket.on('connect', () =>
      socket.write(
        `GET /api/v1/sessions/${sessionId}/events?since=${since} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nAccept: text/event-stream\r\n\r\n`,
      ),
    );
    function take(bytes) {
      const at = nowUs();
      if (!head) {
        head = true;
        if (!bytes.subarray(0, 15).equals(Buffer.from('HTTP/1.1 200 OK'))) reject(new Error(bytes.toString()));
        // The backlog's end is not marked; every stream begins at the tail.
        resolve(socket);
      }
      const data = rest === undefined ? bytes : Buffer.concat([rest, bytes]);
      rest = undefined;
      for (let from = data.indexOf(MARK); from !== -1; ) {
        let p = from + MARK.length;
        let number = 0;
        while (p < data.length && data[p] !== DASH) number = number * 10 + data[p++] - 48;
        let sent = 0;
        for (p += 1; p < data.length && data[p] >= 48; p += 1) sent = sent * 10 + data[p] - 48;
        if (p >= data.length) {
          rest = Buffer.from(data.subarray(from));
          return true;
        }
        arrived += 1;
        if (next !== 0 && number !== next) broken += 1;
        next = number + 1;
        if (used < MOST) latencies[used++] = (at - sent) / 1000;
        from = data.indexOf(MARK, p);
      }
      // A mark may be cut anywhere, so the last few bytes are looked at again with the next ones.
      const end = data.subarray(Math.max(0, data.length - MARK.length + 1));
      if (MAY_BEGIN.some((begin) => end.subarray(-begin.length).equals(begin))) rest = Buffer.from(end);
      return true;
    }
  });
}

async function answer(question) {
  switch (question.type) {
    case 'start': {
      latencies = new Float64Array(MOST);
      for (const stream of question.streams) sockets.push(await open(question, stream));
      return { open: sockets.length };
    }
    case 'reset':
      used = 0;
      arrived = 0;
      return {};
    case 'arrived':
      return { arrived };
    case 'done': {
      const all = [...latencies.subarray(0, used)];
      const samples = everyNth(all, question.samples);
      all.sort((a, b) => a - b);
      const q = (x) => all[Math.min(all.length - 1, Math.floor(all.length * x))];
      return { arrived, broken, samples, p50: q(0.5), p99: q(0.99), cpu: process.cpuUsage() };
    }
    case 'close':
      for (const socket of sockets.splice(0)) socket.destroy();
      sockets = [];
      return {};
    default:
      throw new Error(`no such question: ${question.type}`);
  }
}

process.on('message', async (question) => {
  if (question.type === 'stop') process.exit(0);
  process.send(await answer(question));
});
process.on('disconnect', () => process.exit(0));
