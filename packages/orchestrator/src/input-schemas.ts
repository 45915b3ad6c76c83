// The small schemas that inputs are made of: texts that the database can hold, ids, numbers in a
// query. Each message says how to mend the value.

import { z } from 'zod';

const NUL = '\0';
/** What a title, a path segment or a terminal line must not hold. */
const CONTROL = /[\p{Cc}\u2028\u2029]/u;

/** Half of a surrogate pair on its own, which UTF-8 cannot hold. */
const LONE_SURROGATE = /\p{Surrogate}/u;

function isStorable(text: string): boolean {
  return !text.includes(NUL) && !LONE_SURROGATE.test(text);
}

/** Any text that can be stored, blank or not. */
export function storableText(max: number) {
  return z
    .string()
    .max(max, `is too long: at most ${max} characters`)
    .refine(isStorable, 'holds a NUL character or half of a surrogate pair; remove it');
}

/** Words of a person: storable and not blank. */
export function spokenText(max: number) {
  return storableText(max).refine((text) => text.trim() !== '', 'must not be blank');
}

/** One line without control characters. */
export function oneLine(max: number) {
  return spokenText(max).refine((text) => !CONTROL.test(text), 'must be one line without control characters');
}

/** True for an id that could be ours; anything else can only be unknown. */
export function isPlainId(id: string): boolean {
  return id.length >= 1 && id.length <= 200 && !CONTROL.test(id) && !LONE_SURROGATE.test(id);
}

/** An id that the client chooses. */
export const ClientId = z.string().refine(isPlainId, 'must have 1 to 200 characters, none of them control characters');

const SESSION_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isSessionId(id: string): boolean {
  return SESSION_ID.test(id);
}

/** A whole number from 1 in a query; what is above `max` counts as `max`. */
export function queryLimit(max: number, standard: number) {
  return z
    .string()
    .regex(/^[0-9]{1,9}$/, `must be a whole number from 1 to ${max}`)
    .transform((digits) => Math.min(Number(digits), max))
    .pipe(z.int().min(1, `must be a whole number from 1 to ${max}`).max(max))
    .optional()
    .meta({ default: standard, description: `Page size; more than ${max} counts as ${max}.` });
}
