-- Keys that values in this database are encrypted with, by their fingerprints: the keys themselves are with the nodes. A node that does
-- not hold all of them cannot read every secret, and says so. A row goes when nothing is encrypted with its key any more.
create table secrets_key (
  fingerprint text primary key,
  created_at  timestamptz not null default now()
);

-- Named values of a project that its tasks refer to.
create table secret (
  project_id uuid not null references project (id),
  name       text not null,
  version    integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint secret_pkey primary key (project_id, name),
  constraint secret_version_is_positive check (version > 0)
);

-- Values, encrypted. One that was replaced is kept for as long as an attempt may last that was given it: its reports are
-- searched for the value.
create table secret_version (
  project_id  uuid not null,
  name        text not null,
  version     integer not null,
  value       bytea not null,
  key_id      text not null references secrets_key (fingerprint),
  created_at  timestamptz not null default now(),
  replaced_at timestamptz,
  constraint secret_version_pkey primary key (project_id, name, version),
  constraint secret_version_belongs_to_a_secret foreign key (project_id, name) references secret (project_id, name) on delete cascade
);
create index secret_version_replaced on secret_version (replaced_at) where replaced_at is not null;

-- Which tasks refer to which secrets, whether or not these exist. Tasks without references have no row.
create table secret_use (
  project_id uuid not null,
  name       text not null,
  task_id    uuid not null references task (id),
  constraint secret_use_pkey primary key (project_id, name, task_id)
);
create index secret_use_by_task on secret_use (task_id);

-- Secrets that sign requests and events are encrypted too. Without a key they are as they were stored before; they are encrypted
-- once no node is left that can read them only so.
alter table signing_secret add column key_id text references secrets_key (fingerprint);
alter table endpoint_signing_secret add column key_id text references secrets_key (fingerprint);
alter table subscription add column key_id text references secrets_key (fingerprint);

-- Whether a node holds the keys of all secrets; null for nodes of releases that know none, and for remote workers.
alter table node add column secrets text;
alter table node add constraint node_secrets_is_known check (secrets in ('ready', 'no_key', 'other_key'));
