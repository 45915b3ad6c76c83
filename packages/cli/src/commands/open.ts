// `engram open`: a fresh one-time link, opened in a browser where there is one.

import { spawn } from 'node:child_process';
import type { ApiClient } from '../api-client.js';
import type { Output } from '../output.js';

export async function open(api: ApiClient, output: Output, options: { readonly browser: boolean }): Promise<number> {
  const link = await api.createLoginLink();
  output.result({ url: link.url, expires_at: link.expires_at }, [link.url]);
  if (options.browser && process.stdout.isTTY === true) {
    const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
    const child = spawn(program, [link.url], { detached: true, stdio: 'ignore' });
    // Without a desktop the printed link is what there is.
    child.on('error', () => undefined);
    child.unref();
  }
  return 0;
}
