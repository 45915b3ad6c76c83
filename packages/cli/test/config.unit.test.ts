import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CliError } from '../src/cli-error.js';
import { readConfig } from '../src/config.js';

function problemsOf(env: Record<string, string>, options = {}): string {
  try {
    readConfig(options, env);
  } catch (error) {
    if (error instanceof CliError) return error.message;
    throw error;
  }
  return '';
}

describe('readConfig', () => {
  it('has a usable default for everything', () => {
    const config = readConfig({}, { PATH: '/bin' });
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 4400,
      dataDir: join(homedir(), '.engram'),
      credentials: 'none',
      idleMs: 30_000,
      holdMs: 120_000,
    });
    expect(config.databaseUrl).toBeUndefined();
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('lets an option win over the environment', () => {
    const config = readConfig(
      { port: '5000', dataDir: '/a' },
      { ENGRAM_PORT: '6000', ENGRAM_DATA_DIR: '/b', ENGRAM_HOST: '0.0.0.0' },
    );
    expect(config).toMatchObject({ port: 5000, dataDir: '/a', host: '0.0.0.0' });
  });

  it('names every problem at once', () => {
    const message = problemsOf({
      ENGRAM_PORT: 'http',
      ENGRAM_IDLE_MS: '-1',
      DATABASE_URL: 'mysql://x',
      ENGRAM_LOG_LEVEL: 'loud',
      ENGRAM_AGENT_ENV: 'A B,ENGRAM_PORT',
      ENGRAM_CLAUDE_BIN: 'claude',
    });
    for (const name of [
      'ENGRAM_PORT',
      'ENGRAM_IDLE_MS',
      'DATABASE_URL',
      'ENGRAM_LOG_LEVEL',
      '"A B"',
      'ENGRAM_PORT',
      'ENGRAM_CLAUDE_BIN',
    ]) {
      expect(message).toContain(name);
    }
    expect(message.split('\n')).toHaveLength(8);
  });

  it('refuses a port outside the range, and takes 0 for any free one', () => {
    expect(problemsOf({}, { port: '70000' })).toContain('--port');
    expect(readConfig({ port: '0' }, {}).port).toBe(0);
  });

  it('shows an agent only what is listed, and what the user added', () => {
    const { agentEnvironment, ownEnvironment } = readConfig(
      {},
      {
        PATH: '/bin',
        ANTHROPIC_API_KEY: 'k',
        HTTPS_PROXY: 'http://proxy',
        SECRET: 's',
        MINE: 'm',
        ENGRAM_AGENT_ENV: 'MINE',
        ENGRAM_METRICS_TOKEN: 't',
        DATABASE_URL: 'postgres://p',
      },
    );
    expect(agentEnvironment).toEqual({ PATH: '/bin', ANTHROPIC_API_KEY: 'k', HTTPS_PROXY: 'http://proxy', MINE: 'm' });
    expect(ownEnvironment).toEqual({ PATH: '/bin', HTTPS_PROXY: 'http://proxy', SECRET: 's', MINE: 'm' });
  });

  it('counts an empty credential as none', () => {
    expect(readConfig({}, { ANTHROPIC_API_KEY: ' ' }).credentials).toBe('none');
    expect(readConfig({}, { CLAUDE_CODE_OAUTH_TOKEN: 'x' }).credentials).toBe('environment');
  });

  it('allows the home and temp folder as workspaces unless told otherwise', () => {
    expect(readConfig({}, {}).workspaceRoots).toContain(homedir());
    expect(readConfig({}, { ENGRAM_WORKSPACE_ROOTS: '/srv/a:/srv/b' }).workspaceRoots).toEqual(['/srv/a', '/srv/b']);
    expect(readConfig({}, { ENGRAM_WORKSPACE_ROOTS: '' }).workspaceRoots).toEqual([]);
  });

  it('tells of settings it does not know instead of failing', () => {
    expect(readConfig({}, { ENGRAM_PROT: '1' }).unknownSettings).toEqual(['ENGRAM_PROT']);
  });

  it('takes what servers behind one address share, and refuses what could not be it', () => {
    const config = readConfig({}, { ENGRAM_PUBLIC_URL: 'https://engram.example/', ENGRAM_API_TOKEN: 'x'.repeat(32) });
    expect(config).toMatchObject({ publicUrl: 'https://engram.example', apiToken: 'x'.repeat(32) });
    const message = problemsOf({
      ENGRAM_PUBLIC_URL: 'https://engram.example/app',
      ENGRAM_API_TOKEN: 'short',
      ENGRAM_DRAIN_MS: 'long',
      ENGRAM_DATABASE_WAIT_MS: '-1',
    });
    for (const name of ['ENGRAM_PUBLIC_URL', 'ENGRAM_API_TOKEN', 'ENGRAM_DRAIN_MS', 'ENGRAM_DATABASE_WAIT_MS']) {
      expect(message).toContain(name);
    }
    expect(message).not.toContain('short');
  });
});
