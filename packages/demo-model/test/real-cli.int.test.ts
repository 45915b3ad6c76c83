// The scripted model against the real CLI: what the model says is what the agent does.
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createDemoModel,
  DEMO_MODEL_NAME,
  type DemoModel,
  type DemoModelOptions,
  STORY_FILE,
  toolResultsOf,
} from '../src/index.js';
import { runClaude } from './claude-run.js';

const claudeOf = (version: string): string =>
  join(
    import.meta.dirname,
    `../../../agents/claude-${version}/node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
  );

describe.each(process.env.ENGRAM_TEST_MATRIX === '1' ? ['2.1.183', '2.1.332'] : ['2.1.332'])(
  'with CLI %s',
  (version) => {
    const claude = claudeOf(version);
    let model: DemoModel;
    let home: string;
    let workspace: string;
    beforeEach(async () => {
      home = await mkdtemp(join(tmpdir(), 'demo-home-'));
      workspace = await realpath(await mkdtemp(join(tmpdir(), 'demo ws-')));
    });
    afterEach(async () => {
      await model?.close();
      for (const folder of [home, workspace]) await rm(folder, { recursive: true, force: true });
    });
    const run = async (prompt: string, options: DemoModelOptions = {}, answer?: string): Promise<string> => {
      model = await createDemoModel(options);
      return runClaude({
        claude,
        url: model.url,
        home,
        workspace,
        prompt,
        ...(answer === undefined ? {} : { answer }),
      });
    };
    const fileOf = (name: string): Promise<string> => readFile(join(workspace, name), 'utf8');

    it('answers the CLI and is asked under the name of the demo', async () => {
      expect(await run('[[HI]]')).toBe('hi there');
      expect(model.requests.find((entry) => entry.scenario === 'HI')).toMatchObject({
        model: DEMO_MODEL_NAME,
        workspace,
      });
    });

    it('writes, overwrites and edits in the workspace that the request names', async () => {
      expect(await run('[[WRITE]]')).toContain('RESULTS');
      expect(await fileOf('hello.txt')).toBe('hello\nworld\n');
      await model.close();
      await writeFile(join(workspace, 'a.txt'), 'one\ntwo\n');
      await run('[[EDIT]]');
      expect(await fileOf('a.txt')).toBe('one\nTWO\n');
      await model.close();
      await run('[[OVERWRITE]]');
      expect(await fileOf('a.txt')).toBe('one\nTWO\nthree\nfour\n');
    });

    it('tells the whole story and acts on the answer', async () => {
      expect(await run('Show me what you can do', { story: true }, 'Playful')).toContain('### Done');
      expect(await fileOf(STORY_FILE)).toContain('Ahoy');
      const story = model.requests.filter((entry) => entry.scenario === '(story)');
      expect(story.map((entry) => entry.step)).toEqual([0, 1, 2, 3, 4]);
      const told = story.flatMap((entry) => toolResultsOf(entry)).map((result) => result.content);
      expect(told.join('\n')).toContain('="Playful"');
    });

    it('tells the story although its file is there already', async () => {
      await writeFile(join(workspace, STORY_FILE), 'mine\n');
      expect(await run('Again', { story: true }, 'in my own words: "hi"')).toContain('### Done');
      expect(await fileOf(STORY_FILE)).toContain('in my own words');
    });
  },
);
