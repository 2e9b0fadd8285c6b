-- What users asked for. These rows are wide and are never written by a run: where a task stands is
-- derived from agenda, so that a million runs leave this table untouched.

create table project (
  id         uuid primary key,
  name       text not null unique,
  created_at timestamptz not null default now()
);

insert into project (id, name) values ('00000000-0000-7000-8000-000000000001', 'default');

create table task (
  id           uuid primary key,
  project_id   uuid not null references project (id),
  key          text,
  name         text,
  owner        text,
  action_type  text not null,
  tags         text[] not null default '{}',
  version      integer not null default 1,
  next_ordinal integer not null default 1,   -- where counting goes on when a pause took the next row away
  definition   json not null,                -- what is not default: see store/stored-definition.ts
  created_at   timestamptz not null default now(),
  updated_at   timestamptz not null default now(),
  paused_at    timestamptz,
  cancelled_at timestamptz,
  deleted_at   timestamptz,
  constraint task_version_is_positive check (version > 0),
  constraint task_deleted_is_cancelled check (deleted_at is null or cancelled_at is not null)
);

-- A key names one living task of its project; a deleted task gives its key back.
create unique index task_by_key on task (project_id, key) where key is not null and deleted_at is null;
create index task_by_age on task (project_id, id) where deleted_at is null;
create index task_by_tag on task using gin (tags);

-- Definitions that an edit replaced. Runs that were due before the edit keep the version they belong to.
create table task_version (
  task_id     uuid not null references task (id) on delete cascade,
  version     integer not null,
  definition  json not null,
  replaced_at timestamptz not null default now(),
  primary key (task_id, version)
);
