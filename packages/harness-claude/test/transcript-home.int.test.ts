// A conversation that was stored at one path and restored at another: found by the real CLI there, and
// speaking of the files where they are now.

import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projectFolderName } from '../src/transcript-file.js';
import { movePaths, rehomeConversation } from '../src/transcript-home.js';

let base: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'eg-home-'));
});
afterEach(() => rm(base, { recursive: true, force: true }));

const ID = '0c3fd0f5-1111-4222-8333-444455556666';

describe('a conversation at a new path', () => {
  async function scene() {
    const [old, now] = [join(base, 'host-a/s1'), join(base, 'host-b/s1')];
    const projects = join(now, 'home/.claude/projects');
    const folder = join(projects, projectFolderName(join(old, 'workspace')));
    await mkdir(join(folder, ID, 'subagents'), { recursive: true });
    const thinking = { type: 'thinking', thinking: `I look at ${old}/workspace/a.txt`, signature: 'sig' };
    const call = { type: 'tool_use', id: 't', name: 'Read', input: { file_path: `${old}/workspace/a.txt` } };
    const lines = [
      { type: 'user', cwd: join(old, 'workspace'), message: { content: `see ${old}/workspace/a.txt.` } },
      { type: 'assistant', cwd: join(old, 'workspace'), message: { content: [thinking, call] } },
      {
        type: 'user',
        toolUseResult: {
          [`${old}/home/x`]: `${old}x/workspace and ${old}/home/.claude/projects/${projectFolderName(join(old, 'workspace'))}/y`,
        },
      },
    ];
    const text = `${lines.map((line) => JSON.stringify(line)).join('\n')}\n{"torn": "${old}`;
    await writeFile(join(folder, `${ID}.jsonl`), text);
    await writeFile(
      join(folder, ID, 'subagents/agent-1.jsonl'),
      `${JSON.stringify({ cwd: join(old, 'workspace') })}\n`,
    );
    const place = {
      configDir: join(now, 'home/.claude'),
      agentHome: join(now, 'home'),
      workspace: join(now, 'workspace'),
      claudeSessionId: ID,
    };
    return { old, now, projects, text, thinking, place };
  }

  it('lies where the CLI looks, names the files where they are, and keeps what is signed', async () => {
    const { old, now, projects, thinking, place, text } = await scene();
    expect(await rehomeConversation(place)).toBe(join(old, 'workspace'));
    expect(await readdir(projects)).toEqual([projectFolderName(join(now, 'workspace'))]);
    const folder = join(projects, projectFolderName(join(now, 'workspace')));
    const lines = (await readFile(join(folder, `${ID}.jsonl`), 'utf8')).split('\n');
    const [first, second, third] = lines.slice(0, 3).map((line): unknown => JSON.parse(line));
    expect(first).toMatchObject({ cwd: join(now, 'workspace'), message: { content: `see ${now}/workspace/a.txt.` } });
    expect(second).toMatchObject({
      message: { content: [thinking, { input: { file_path: `${now}/workspace/a.txt` } }] },
    });
    expect(third).toMatchObject({
      toolUseResult: {
        [`${now}/home/x`]: `${old}x/workspace and ${now}/home/.claude/projects/${projectFolderName(join(now, 'workspace'))}/y`,
      },
    });
    expect(lines[3]).toBe(text.split('\n')[3]);
    expect(await readFile(join(folder, ID, 'subagents/agent-1.jsonl'), 'utf8')).toContain(join(now, 'workspace'));
    expect(await rehomeConversation(place)).toBeUndefined();
  });

  it('joins a folder of that name which is there already', async () => {
    const { now, projects, place } = await scene();
    const to = join(projects, projectFolderName(join(now, 'workspace')));
    await mkdir(to);
    await writeFile(join(to, 'other.jsonl'), '{}\n');
    await rehomeConversation(place);
    expect((await readdir(to)).sort()).toEqual([ID, `${ID}.jsonl`, 'other.jsonl'].sort());
  });

  it('that did not move is not touched, whatever its folder is called', async () => {
    const { old, projects, place, text } = await scene();
    await rename(join(projects, projectFolderName(join(old, 'workspace'))), join(projects, 'a-short-name'));
    expect(await rehomeConversation({ ...place, workspace: join(old, 'workspace') })).toBeUndefined();
    expect(await readFile(join(projects, 'a-short-name', `${ID}.jsonl`), 'utf8')).toBe(text);
  });

  it('is the same bytes where no path is named', () => {
    const bytes = Buffer.from('{"a": 1e2, "b": "\\u00e4"}\nnot json /x/y\n');
    expect(movePaths(bytes, [['/q', '/r']])).toBe(bytes);
    expect(movePaths(bytes, [['/x/y', '/z']]).equals(bytes)).toBe(true);
  });
});
