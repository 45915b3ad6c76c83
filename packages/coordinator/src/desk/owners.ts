// Who a secret belongs to: API tokens, one-time login codes, browser sessions. Only SHA-256 sums
// are stored, and every time limit is the database's.

import { sql } from 'kysely';
import type { Db } from '../database.js';
import type { Actor } from '../session-events.js';

interface OwnerRow {
  readonly owner_id: string;
  readonly owner_name: string;
}

function toActor(row: OwnerRow | undefined): Actor | undefined {
  return row === undefined ? undefined : { id: row.owner_id, name: row.owner_name };
}

export async function findTokenOwner(db: Db, sha256: Uint8Array): Promise<Actor | undefined> {
  const { rows } =
    await sql<OwnerRow>`select owner_id, owner_name from tokens where sha256 = ${Buffer.from(sha256)}`.execute(db);
  return toActor(rows[0]);
}

export async function putToken(db: Db, sha256: Uint8Array, owner: Actor): Promise<void> {
  await sql`insert into tokens (sha256, owner_id, owner_name) values (${Buffer.from(sha256)}, ${owner.id}, ${owner.name})
    on conflict (sha256) do update set owner_id = excluded.owner_id, owner_name = excluded.owner_name`.execute(db);
}

export async function putLoginCode(db: Db, sha256: Uint8Array, owner: Actor, ttlMs: number): Promise<void> {
  await sql`delete from login_codes where expires_at < now()`.execute(db);
  await sql`insert into login_codes (sha256, owner_id, owner_name, expires_at)
    values (${Buffer.from(sha256)}, ${owner.id}, ${owner.name}, ${after(ttlMs)})`.execute(db);
}

/** Gives the owner once: of two who come with the same code, one. */
export async function takeLoginCode(db: Db, sha256: Uint8Array): Promise<Actor | undefined> {
  const { rows } = await sql<OwnerRow & { live: boolean }>`delete from login_codes where sha256 = ${Buffer.from(sha256)}
    returning owner_id, owner_name, expires_at > now() as live`.execute(db);
  return rows[0]?.live === true ? toActor(rows[0]) : undefined;
}

export async function putBrowserSession(db: Db, sha256: Uint8Array, owner: Actor, ttlMs: number): Promise<void> {
  await sql`delete from browser_sessions where expires_at < now()`.execute(db);
  await sql`insert into browser_sessions (sha256, owner_id, owner_name, expires_at)
    values (${Buffer.from(sha256)}, ${owner.id}, ${owner.name}, ${after(ttlMs)})
    on conflict (sha256) do update set expires_at = excluded.expires_at`.execute(db);
}

export async function findBrowserSession(db: Db, sha256: Uint8Array): Promise<Actor | undefined> {
  const { rows } = await sql<OwnerRow>`select owner_id, owner_name from browser_sessions
    where sha256 = ${Buffer.from(sha256)} and expires_at > now()`.execute(db);
  return toActor(rows[0]);
}

function after(ms: number) {
  return sql`now() + make_interval(secs => ${ms / 1000})`;
}
