import { describe, expect, it } from 'vitest';
import { createAgentEnvironment, DEMO_MODEL } from '../src/agent-environment.js';
import { sessionFolder } from '../src/session-folder.js';

const folder = sessionFolder('/data', '0b6c1f5e-8f0c-4a6e-9a61-6f1f3e7a2b11');
const base = { folder, sandboxMark: 'm', demoModelUrl: undefined, model: undefined };

describe('the environment of an agent', () => {
  it('holds what was let through and the folders of its session, nothing of ours', () => {
    const env = createAgentEnvironment({
      ...base,
      allowed: { PATH: '/bin', ANTHROPIC_API_KEY: 'k', HOME: '/home/me' },
    });
    expect(env).toMatchObject({
      PATH: '/bin',
      ANTHROPIC_API_KEY: 'k',
      HOME: folder.home,
      CLAUDE_CONFIG_DIR: `${folder.home}/.claude`,
      TMPDIR: folder.tmp,
      TERM: 'dumb',
      DISABLE_AUTOUPDATER: '1',
      ENGRAM_SANDBOX: 'm',
    });
    expect(Object.keys(env).filter((name) => name.startsWith('npm_') || name === 'USER')).toEqual([]);
  });

  it('never gives real credentials to the demo model', () => {
    const env = createAgentEnvironment({
      ...base,
      allowed: {
        ANTHROPIC_API_KEY: 'real',
        ANTHROPIC_AUTH_TOKEN: 'real',
        CLAUDE_CODE_OAUTH_TOKEN: 'real',
        ANTHROPIC_BASE_URL: 'https://real',
        HTTPS_PROXY: 'http://proxy',
      },
      model: DEMO_MODEL,
      demoModelUrl: 'http://127.0.0.1:9',
    });
    expect(Object.values(env)).not.toContain('real');
    expect(env).toMatchObject({ ANTHROPIC_BASE_URL: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1,localhost' });
  });

  it('takes a session id as a path only when it is a UUID', () => {
    expect(() => sessionFolder('/data', '../../etc')).toThrow(/not a UUID/);
  });
});
