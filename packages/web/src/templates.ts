// What a person keeps to start from again: what should be done, and where. Of this browser alone.

import type { Workspace } from './api-types.js';
import { isJsonObject } from './parse-event.js';

const KEY = 'engram.templates';
const KEPT = 20;

export interface Template {
  /** Also what it is told apart by. */
  readonly name: string;
  readonly prompt: string;
  readonly workspace: Workspace;
  readonly model: string;
}

/** Its first words: what a list has room for. */
export function templateName(prompt: string): string {
  const line = prompt.trim().split('\n')[0]?.trim() ?? '';
  return line.length <= 60 ? line : `${line.slice(0, 59).trimEnd()}…`;
}

/** The newest first; one of the same name is replaced. */
export function addTemplate(known: readonly Template[], template: Template): readonly Template[] {
  return [template, ...known.filter(({ name }) => name !== template.name)].slice(0, KEPT);
}

function parseWorkspace(value: unknown): Workspace | undefined {
  if (!isJsonObject(value)) return undefined;
  const { kind, path, url, ref } = value;
  if (kind === 'empty') return { kind };
  if (kind === 'path' && typeof path === 'string') return { kind, path };
  if (kind === 'git' && typeof url === 'string') return { kind, url, ...(typeof ref === 'string' ? { ref } : {}) };
  return undefined;
}

/** Undefined for what another version of the page, or something else, left there. */
export function parseTemplate(value: unknown): Template | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name, prompt, model } = value;
  const workspace = parseWorkspace(value.workspace);
  if (typeof name !== 'string' || typeof prompt !== 'string' || typeof model !== 'string') return undefined;
  return workspace === undefined ? undefined : { name, prompt, workspace, model };
}

export function loadTemplates(): readonly Template[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? '');
    return Array.isArray(value) ? value.flatMap((item) => parseTemplate(item) ?? []).slice(0, KEPT) : [];
  } catch {
    return [];
  }
}

export function saveTemplates(templates: readonly Template[]): void {
  localStorage.setItem(KEY, JSON.stringify(templates));
}
