// What this browser started sessions with, newest first: picks for the next new session.

const KEY = 'engram.prompts';
const KEPT = 6;
/** A longer text is somebody's one-off, and would make the list unreadable. */
const LONGEST = 2_000;

export function addPrompt(known: readonly string[], prompt: string): readonly string[] {
  const text = prompt.trim();
  if (text === '' || text.length > LONGEST) return known;
  return [text, ...known.filter((other) => other !== text)].slice(0, KEPT);
}

export function loadPrompts(): readonly string[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? '');
    return Array.isArray(value) ? value.filter((text): text is string => typeof text === 'string').slice(0, KEPT) : [];
  } catch {
    return [];
  }
}

export function keepPrompt(prompt: string): void {
  localStorage.setItem(KEY, JSON.stringify(addPrompt(loadPrompts(), prompt)));
}
