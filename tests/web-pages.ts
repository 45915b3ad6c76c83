// One stage and one browser for a file of page tests. Every page is watched: an error in the page, a
// report of the content policy or a request to anywhere else fails the test that caused it.

import {
  type Browser,
  type BrowserContext,
  launchBrowser,
  type Page,
  startWebStage,
  type WebStage,
} from '@engram/testkit';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';

type ContextOptions = NonNullable<Parameters<Browser['newContext']>[0]>;

export interface WebPages {
  readonly stage: WebStage;
  /** A signed-in page in a profile of its own. */
  open(
    path: string,
    options?: ContextOptions & {
      readonly theme?: 'contrast';
      /** The content policy that every response comes with, in place of the server's own; its reports are no problem. */
      readonly policy?: string;
    },
  ): Promise<Page>;
  /** Another page of the same profile. */
  openBeside(page: Page, path: string): Promise<Page>;
}

export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } as const;

export function useWebPages(): WebPages {
  let stage: WebStage | undefined;
  let browser: Browser | undefined;
  const contexts: BrowserContext[] = [];
  let problems: string[] = [];

  beforeAll(async () => {
    [stage, browser] = await Promise.all([startWebStage(), launchBrowser()]);
  });
  afterEach(async () => {
    await stage?.setLink(true);
    // What is still being answered for a page that goes is no failure of its test.
    for (const context of contexts) await context.unrouteAll({ behavior: 'ignoreErrors' });
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    const found = problems;
    problems = [];
    expect(found).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.stop();
  });

  function started(): { stage: WebStage; browser: Browser } {
    if (stage === undefined || browser === undefined) throw new Error('the stage is not up');
    return { stage, browser };
  }

  async function show(context: BrowserContext, path: string, policy?: string): Promise<Page> {
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    page.on('pageerror', (error) => problems.push(`page error: ${error.message}`));
    page.on('console', (message) => {
      const text = message.text();
      if (policy !== undefined && /Content Security Policy/.test(text)) return;
      if (/Content Security Policy|same key|Warning:/.test(text)) problems.push(text);
    });
    const { url } = started().stage;
    page.on('request', (request) => {
      if (!request.url().startsWith(url) && !/^(data|blob):/.test(request.url())) problems.push(request.url());
    });
    if (policy !== undefined) {
      await context.route(/\/(sessions\/[^/]*)?$|\.js$/, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, headers: { ...response.headers(), 'content-security-policy': policy } });
      });
    }
    await page.goto(`${url}${path}`);
    return page;
  }

  return {
    get stage() {
      return started().stage;
    },
    async open(path, { theme, policy, ...options } = {}) {
      const context = await started().stage.signIn(started().browser, options);
      contexts.push(context);
      if (theme !== undefined) {
        await context.addInitScript(`localStorage.setItem('engram.preferences', '{"theme":"${theme}"}')`);
      }
      return show(context, path, policy);
    },
    openBeside: (page, path) => show(page.context(), path),
  };
}
