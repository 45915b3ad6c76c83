// Files that people gave their agents and images that tools gave back. Named by what they hold, so the
// same bytes twice are one row. An addition: an older release does not notice it.

export const attachmentsAddition = `
create table attachments (
  session_id uuid not null,
  -- SHA-256 of the bytes, in hex
  id text not null,
  media_type text not null,
  size integer not null,
  bytes bytea not null,
  created_at timestamptz(3) not null default now(),
  primary key (session_id, id)
);
alter table attachments alter column bytes set storage external;
`;
