-- What the policies of a task need to remember. A row that is due and may not start yet waits in the agenda as a
-- state of its own: `held` until an earlier run of its task has ended, `deferred` until a blackout is over. Neither
-- counts as active. An active run that something is held for is `awaited`: whatever ends it wakes what is held.

alter type agenda_state add value 'held';
alter type agenda_state add value 'deferred';

-- `resume` ends a pause at an instant, `skip` passes over an occurrence that a user said to skip. Both are rows
-- that somebody must look at on time, and neither is ever a run.
alter type agenda_kind add value 'skip';

alter table agenda add column awaited boolean not null default false;

-- Runs that make up for an outage wait in lanes of their own, which workers serve last.
alter table lane add column catchup boolean not null default false;

-- A pause may say why, and when it ends by itself; and the next occurrences, up to an instant, may be skipped.
alter table task
  add column pause_reason text,
  add column resume_at timestamptz,
  add column skip_until timestamptz,
  add column skip_reason text,
  add constraint task_resumes_only_from_a_pause check (resume_at is null or paused_at is not null);

-- Every pause there was, for those who ask later why something did not run.
create table task_pause (
  task_id       uuid not null references task (id) on delete cascade,
  paused_at     timestamptz not null,
  reason        text,
  until_at      timestamptz,
  resumed_at    timestamptz,
  resume_reason text,
  primary key (task_id, paused_at)
);

-- Windows in which nothing of a project starts by time: `rule` is an instant to another, or recurs on the wall
-- clock of a zone. They are never changed, only removed, so that it can be told what held at any time.
create table blackout (
  id         uuid primary key,
  project_id uuid not null references project (id),
  name       text not null,
  effect     text not null,
  rule       json not null,
  created_at timestamptz not null default now(),
  removed_at timestamptz,
  constraint blackout_effect_is_known check (effect in ('skip', 'defer'))
);
create index blackout_by_project on blackout (project_id, id) where removed_at is null;
