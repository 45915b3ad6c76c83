// Reads a backup's bytes in order: a line, or a table's rows, as they come. Holds one chunk at a time, and
// knows the hash of everything it gave so far.

import { createHash } from 'node:crypto';
import { damaged, ROWS_END } from './backup-format.js';

const LF = 0x0a;
const LINE_MAX_BYTES = 1024 * 1024;
const LINE_AND_END = Buffer.concat([Buffer.from('\n'), ROWS_END]);

export interface BackupReader {
  /** Without its line feed. Throws `backup_damaged` when the bytes end inside it. */
  line(): Promise<string>;
  /** The rows of a table up to, and without, the line that ends them. */
  rows(): AsyncGenerator<Buffer, void>;
  /** Of all bytes given so far. */
  sha256(): string;
  /** True when there is nothing behind what was given. */
  atEnd(): Promise<boolean>;
}

export function createBackupReader(source: AsyncIterable<Buffer>): BackupReader {
  const chunks = source[Symbol.asyncIterator]();
  const hash = createHash('sha256');
  let rest: Buffer = Buffer.alloc(0);

  async function more(): Promise<boolean> {
    const { value, done } = await chunks.next();
    if (done === true) return false;
    rest = rest.length === 0 ? value : Buffer.concat([rest, value]);
    return true;
  }

  function take(bytes: number): Buffer {
    const taken = rest.subarray(0, bytes);
    rest = rest.subarray(bytes);
    hash.update(taken);
    return taken;
  }

  return {
    async line() {
      let at = rest.indexOf(LF);
      while (at < 0) {
        if (rest.length > LINE_MAX_BYTES) throw damaged('a line has no end');
        if (!(await more())) throw damaged('it ends early');
        at = rest.indexOf(LF);
      }
      return take(at + 1).toString('utf8', 0, at);
    },
    async *rows() {
      for (let atStart = true; ; ) {
        if (atStart && rest.subarray(0, ROWS_END.length).equals(ROWS_END)) break;
        const at = rest.indexOf(LINE_AND_END);
        if (at >= 0) {
          yield take(at + 1);
          break;
        }
        // What may be the beginning of the end is kept back.
        const sure = rest.length - ROWS_END.length;
        if (sure > 0) {
          yield take(sure);
          atStart = false;
        }
        if (!(await more())) throw damaged('it ends inside a table');
      }
      take(ROWS_END.length);
    },
    sha256: () => hash.copy().digest('hex'),
    atEnd: async () => rest.length === 0 && !(await more()),
  };
}
