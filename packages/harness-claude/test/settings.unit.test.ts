// The settings an agent starts with: what a parked question depends on, whatever files the agent writes.

import { expect, it } from 'vitest';
import { shellQuote, toSettings } from '../src/settings.js';

it('keeps the conversation of a question that waits for years, and the hook that it comes back through', () => {
  const settings = toSettings({ type: 'http', port: 4711 });
  // The CLI deletes conversations after 30 days unless told otherwise.
  expect(settings).toMatchObject({ cleanupPeriodDays: 36_500, disableAllHooks: false });
  expect(settings).toMatchObject({
    hooks: { PreToolUse: [{ matcher: 'AskUserQuestion', hooks: [{ url: 'http://127.0.0.1:4711/hook' }] }] },
  });
});

it('names the hook program as one command of a shell, whatever is in its path', () => {
  const settings = toSettings({ type: 'command', argv: ["/it's here/hook", '$HOME'] });
  const command = `${shellQuote("/it's here/hook")} '$HOME'`;
  expect(settings).toMatchObject({ hooks: { PreToolUse: [{ hooks: [{ type: 'command', command }] }] } });
});
