-- What programs authenticate with. A key is random, so a plain hash of it is kept; the hint is its beginning, by which people
-- recognise it. Rows stay when a key is revoked or has expired: an installation that once had a key is never open again.
create table api_key (
  id           uuid not null,
  -- Null: a key of the installation, whose role counts in every project.
  project_id   uuid references project,
  name         text not null,
  role         text not null,
  hash         bytea not null,
  hint         text not null,
  -- Limits of the key; null: none.
  queues       text[],
  networks     cidr[],
  created_at   timestamptz not null default now(),
  created_by   text,
  expires_at   timestamptz,
  revoked_at   timestamptz,
  -- The key that took its place.
  rotated_to   uuid,
  -- Written in batches, about once a minute.
  last_used_at timestamptz,
  constraint api_key_pkey primary key (id),
  constraint api_key_hash_key unique (hash),
  constraint api_key_role check (role in ('viewer', 'operator', 'editor', 'admin', 'worker'))
);
create index api_key_of_project on api_key (project_id, id);

-- The key that a worker registered with: its token is good for as long as the key is. Null: the server was open.
alter table remote_worker add column key_id uuid;

-- An archived project fires nothing more and can only be read.
alter table project add column archived_at timestamptz;
