-- The auditor walks over all tasks that must always have a next row, slice by slice, and looks whether they have.

-- A task that owes nothing more (its endAt or maxRuns was reached) is seen to be so once: this is the updated_at at which it
-- was. Any later change of the task moves updated_at on, and so makes it void.
alter table task add column settled_as_of timestamptz;

-- What the walk goes along: a one-off is not in it, so a million of them cost it nothing.
create index task_that_goes_on on task (id)
where cancelled_at is null and paused_at is null and settled_as_of is distinct from updated_at
  and coalesce(definition -> 'schedule' ->> 'type', '') not in ('once', 'manual');

-- What the worker of a node offers, so that it can be told why a run waits.
alter table node add column labels text[] not null default '{}';

-- How far the walk has come: whoever holds this row does the next slice, the others leave it be.
create table audit_progress (
  is_only        boolean primary key default true,
  walked_to      uuid,
  next_pass_at   timestamptz not null default now(),
  began_at       timestamptz not null default now(),
  tasks          integer not null default 0,
  round_ended_at timestamptz,
  round_ms       integer,
  round_tasks    integer,
  constraint audit_progress_is_one_row check (is_only)
) with (fillfactor = 50);
insert into audit_progress default values;

-- What was found out of order, and whether it could be put right.
create table audit_finding (
  id          uuid primary key,
  project_id  uuid not null references project (id),
  task_id     uuid not null,
  run_id      uuid,
  kind        text not null,
  found_at    timestamptz not null default now(),
  is_repaired boolean not null,
  missed      integer not null default 0,
  detail      text not null,
  constraint audit_finding_kind_is_known check (kind in ('next_row_lost', 'ready_row_lost', 'held_by_the_dead'))
);
create index audit_finding_by_time on audit_finding (project_id, found_at);
