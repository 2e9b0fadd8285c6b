-- A version is all that a user decided about a task, its names included, so that an earlier one can be shown and made
-- to hold again. The version that holds is in task itself.

alter table task_version
  add column key text,
  add column name text,
  add column owner text,
  add column tags text[] not null default '{}';

-- How each version but the first came about.
create table task_edit (
  task_id     uuid not null references task (id) on delete cascade,
  version     integer not null,
  made_at     timestamptz not null,
  made_by     text,
  reason      text,
  rollback_of integer,                       -- the version that this one repeats
  primary key (task_id, version)
);
