-- What happened. Rows are appended once, when a run ends, into daily partitions by the instant it ended,
-- so that keeping history for n days is dropping a table a day.

create type run_state as enum ('completed', 'permanently_failed', 'cancelled', 'skipped');

create table run (
  run_id        uuid not null,
  task_id       uuid not null,
  project_id    uuid not null,
  worker_id     uuid,
  scheduled_for timestamptz not null,
  started_at    timestamptz,                 -- of the last attempt
  ended_at      timestamptz not null,
  covers_until  timestamptz,                 -- a skip of several occurrences: the last one it speaks for
  covers_count  integer,                     -- and how many; null when there were too many to count
  version       integer not null,
  ordinal       integer not null,
  fence         integer not null default 0,
  late_ms       bigint,
  attempt       smallint not null default 0,
  losses        smallint not null default 0,
  kind          agenda_kind not null,
  state         run_state not null,
  reason        text,
  outcome       text,                        -- how the last attempt ended
  output        jsonb,
  error         jsonb,
  constraint run_skip_has_a_reason check (state <> 'skipped' or reason is not null)
) partition by range (ended_at);

create index run_by_task on run (task_id, scheduled_for desc, run_id desc);
create index run_by_id on run (run_id);
create index run_by_end on run using brin (ended_at);
create index run_that_failed on run (project_id, ended_at) where state = 'permanently_failed';

-- Attempts before the last one of each run; the last is told by the run itself.
create table attempt (
  run_id     uuid not null,
  task_id    uuid not null,
  worker_id  uuid,
  started_at timestamptz,
  ended_at   timestamptz not null,
  number     smallint not null,
  fence      integer not null,
  outcome    text not null,
  output     jsonb,
  error      jsonb,
  constraint attempt_outcome_is_known check (outcome in ('failed', 'timed_out', 'cancelled', 'worker_lost'))
) partition by range (ended_at);

create index attempt_by_run on attempt (run_id, number);
create index attempt_by_task on attempt (task_id, ended_at desc);

-- Makes the partitions of today and of the days to come. Safe on every node at once: the lock lets one
-- caller work while the others wait, and what exists already is left alone. A partition is made apart and
-- then attached, because that needs no lock that statements on the parent would wait for.
create function ensure_partitions(days_ahead integer) returns integer language plpgsql as $$
declare
  today  date := (now() at time zone 'UTC')::date;
  parent text;
  day    date;
  name   text;
  made   integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  foreach parent in array array['run', 'attempt'] loop
    for day in select generate_series(today - 1, today + days_ahead, '1 day')::date loop
      name := parent || '_' || to_char(day, 'YYYYMMDD');
      if to_regclass(name) is null then
        execute format('create table %I (like %I including defaults including constraints)', name, parent);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)',
          parent, name, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
        made := made + 1;
      end if;
    end loop;
  end loop;
  return made;
end $$;

-- Drops the partitions of days that lie longer ago than history is kept. A drop needs the parent for a
-- moment; rather than let others queue up behind a long wait it gives up, and the next pass tries again.
create function drop_partitions(days_kept integer) returns integer language plpgsql as $$
declare
  first_kept text := to_char((now() at time zone 'UTC')::date - days_kept, 'YYYYMMDD');
  name       text;
  dropped    integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  perform set_config('lock_timeout', '300ms', true);
  for name in
    select c.relname from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent in ('run'::regclass, 'attempt'::regclass) and right(c.relname, 8) < first_kept
    order by right(c.relname, 8) limit 2
  loop
    execute format('drop table %I', name);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;
