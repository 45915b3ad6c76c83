// Which background tasks the agent has running, from its own remarks. Pure. They end with its
// process, and a person should read which ones.

import type { Notice } from '@engram/harness-proto';
import type { ClaudeMessage } from './claude-message.js';
import { asArray, asRecord, asString } from './json-guards.js';

/** Task id → what it does. */
export type BackgroundTasks = ReadonlyMap<string, string>;

export const NO_TASKS: BackgroundTasks = new Map();

export function followTasks(tasks: BackgroundTasks, message: ClaudeMessage): BackgroundTasks {
  if (message.type !== 'system') return tasks;
  const { fields } = message;
  switch (message.subtype) {
    case 'background_tasks_changed':
      return new Map((asArray(fields.tasks) ?? []).flatMap((task) => toEntry(asRecord(task) ?? {})));
    case 'task_started':
      return fields.is_backgrounded === false ? tasks : new Map([...tasks, ...toEntry(fields)]);
    case 'task_notification':
      return new Map([...tasks].filter(([id]) => id !== fields.task_id));
    default:
      return tasks;
  }
}

/** What is worth telling now that no run is open; `told` is what was told since the last run, '' for nothing. */
export function backgroundNotice(
  told: string,
  tasks: BackgroundTasks,
): { readonly told: string; readonly notice?: Notice } {
  const names = [...tasks.values()].join(', ');
  if (names === told) return { told };
  const [code, message] =
    names === ''
      ? (['background_ended', 'Nothing runs in the background any more.'] as const)
      : ([
          'background_running',
          `Still running in the background, so the session stays awake for now: ${names}`,
        ] as const);
  return { told: names, notice: { type: 'notice', level: 'info', code, message } };
}

function toEntry(fields: Readonly<Record<string, unknown>>): [string, string][] {
  const id = asString(fields.task_id);
  return id === undefined ? [] : [[id, asString(fields.description) ?? id]];
}
