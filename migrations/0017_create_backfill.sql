-- Runs for occurrences of the past, asked for by the range. They are put on the agenda a slice at a time, by whichever
-- scheduler holds the row; position and next_at are written with the slice, so whoever comes next goes on from there.

alter type agenda_kind add value 'backfill';

create table backfill (
  id           uuid primary key,
  project_id   uuid not null references project (id),
  task_id      uuid not null references task (id),
  number       integer not null,             -- which one of its task's; its runs have it as their ordinal
  version      integer not null,             -- of the task, of all its runs
  from_at      timestamptz not null,         -- the range, without its end
  to_at        timestamptz not null,
  newest_first boolean not null,
  one_by_one   boolean not null,             -- a run begins only when nothing else of the task is active
  force        boolean not null,             -- also occurrences that have completed before
  rate         text,                         -- as it was asked for, such as 10/s
  max_runs     integer,
  state        text not null default 'running',
  occurrences  integer not null,             -- how many the range holds
  position     timestamptz,                  -- the occurrence that was looked at last
  started      integer not null default 0,   -- runs that were put on the agenda
  passed_over  integer not null default 0,   -- occurrences that needed none
  is_written   boolean not null default false, -- all of its runs are on the agenda, or were
  next_at      timestamptz not null,         -- the rate lets no run begin before
  look_at      timestamptz not null,         -- when somebody must look at the row
  created_at   timestamptz not null default now(),
  ended_at     timestamptz,
  made_by      text,
  reason       text,
  completed    integer,                      -- what its runs came to, once it has ended
  failed       integer,
  cancelled    integer,
  constraint backfill_of_task_is_numbered unique (task_id, number),
  constraint backfill_state_is_known check (state in ('running', 'completed', 'cancelled')),
  constraint backfill_ends_once check ((state = 'running') = (ended_at is null))
);

-- One at a time for each task: two would meet in the same occurrences.
create unique index backfill_one_at_a_time on backfill (task_id) where state = 'running';
create index backfill_to_look_at on backfill (look_at) where state = 'running';
create index backfill_by_end on backfill (ended_at) where ended_at is not null;
