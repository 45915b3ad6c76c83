// The first schema. No foreign keys: every writer locks the session's row first, so a child row
// cannot be made for a session that is gone, and an append pays for no check per event.
// Times have milliseconds, so a JavaScript Date and a cursor carry them whole.

export const sessionsMigration = `
create table sessions (
  id uuid primary key,
  owner_id text not null,
  owner_name text not null,
  title text not null,
  agent text not null,
  model text,
  workspace jsonb not null,
  status text not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- the newest event, and the newest event that came from the harness, by its own count
  last_idx bigint not null default 0,
  harness_seq bigint not null default 0,
  -- the lease: who, until when, and its fencing number
  epoch bigint not null default 0,
  lease_host text,
  lease_until timestamptz(3),
  -- the only host that has this session's files
  bound_host text,
  open_run text,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cache_read_tokens bigint not null default 0,
  cache_write_tokens bigint not null default 0,
  cost_micro_usd bigint not null default 0,
  -- wishes that are not commands
  attend_tool_call_id text,
  attend_until timestamptz(3),
  wake_asked boolean not null default false,
  sleep_asked boolean not null default false,
  -- after a failure only outbox rows above this id wake the session
  failed_after bigint not null default 0,
  -- moves whenever the holder of the lease should look again
  wish_version bigint not null default 0
) with (fillfactor = 70);
create index sessions_by_activity on sessions (owner_id, updated_at desc, id desc);
create index sessions_leased on sessions (lease_host, lease_until) where lease_host is not null;
create index sessions_attended on sessions (attend_until) where attend_until is not null;
create index sessions_wake_asked on sessions (id) where wake_asked;
create index sessions_stranded on sessions (bound_host) where status = 'host_lost';

create table events (
  session_id uuid not null,
  idx bigint not null,
  at timestamptz(3) not null,
  kind text not null,
  -- the event's fields without its type; the body of an event of a newer harness stays raw
  data jsonb not null,
  raw bytea,
  size integer not null,
  primary key (session_id, idx)
);

create table questions (
  session_id uuid not null,
  tool_call_id text not null,
  owner_id text not null,
  questions jsonb not null,
  asked_at timestamptz(3) not null,
  asked_idx bigint not null,
  state text not null,
  answers jsonb,
  dismiss_reason text,
  closed_idx bigint,
  -- the harness itself reported the end of this question
  proven boolean not null default false,
  primary key (session_id, tool_call_id)
);
create index questions_open on questions (owner_id, asked_at, session_id, tool_call_id)
  where state in ('waiting', 'sent', 'failed');

create table outbox (
  id bigint generated always as identity primary key,
  session_id uuid not null,
  kind text not null,
  -- the prompt or the tool call it is about
  ref text not null,
  command jsonb not null,
  wakes boolean not null,
  accepted_at timestamptz(3) not null,
  handed_at timestamptz(3),
  seen_at timestamptz(3),
  retired_at timestamptz(3)
);
create index outbox_owed on outbox (session_id, id) where retired_at is null;
create index outbox_waking on outbox (session_id) where retired_at is null and wakes;
create unique index outbox_prompts on outbox (session_id, ref) where kind = 'prompt';

create table hosts (
  host_id text primary key,
  instance text not null,
  name text not null,
  version text not null,
  pid bigint not null,
  isolation text not null,
  slots integer not null,
  credentials text not null,
  demo boolean not null,
  claude_version text,
  draining boolean not null default false,
  seen_at timestamptz(3) not null
);

-- Which hosts may still have files of a session; the session may be deleted already.
create table session_hosts (
  session_id uuid not null,
  host_id text not null,
  primary key (session_id, host_id)
);
create index session_hosts_by_host on session_hosts (host_id);

create table idempotency_keys (
  owner_id text not null,
  key text not null,
  session_id uuid not null,
  created_at timestamptz(3) not null,
  primary key (owner_id, key)
);
create table tokens (sha256 bytea primary key, owner_id text not null, owner_name text not null, created_at timestamptz(3) not null default now());
create table login_codes (sha256 bytea primary key, owner_id text not null, owner_name text not null, expires_at timestamptz(3) not null);
create table browser_sessions (sha256 bytea primary key, owner_id text not null, owner_name text not null, expires_at timestamptz(3) not null);
`;
