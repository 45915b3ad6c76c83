// Where a session's newest files are, what a store has of them, and what hosts say of their room.
// An addition: every column is nullable or has a default, so an older release does not notice it.

export const filesAndHostsAddition = `
alter table sessions
  -- the host that ran the session last: the newest files are on its disk
  add column files_host text,
  -- nothing ran since the store took them
  add column files_stored boolean not null default false,
  -- which store, the object that lists the files, and up to which harness event they go
  add column files_store text,
  add column files_manifest text,
  add column files_seq bigint not null default 0,
  add column files_at timestamptz(3);
alter table questions
  -- closed in the log, but the agent that heard of it is lost: it hears it again
  add column redo boolean not null default false;
alter table hosts
  add column store_id text,
  add column memory_total bigint,
  add column memory_free bigint,
  -- the host said that it goes
  add column left_at timestamptz(3);
create index sessions_files_host on sessions (files_host) where files_host is not null;

-- Which stores may still have objects of a session; the session may be deleted already.
create table store_sessions (
  session_id uuid not null,
  store_id text not null,
  primary key (session_id, store_id)
);
create index store_sessions_by_store on store_sessions (store_id);
create index outbox_retired on outbox (retired_at) where retired_at is not null;
`;
