-- Who changed what. An entry is written in the transaction that makes the change, and never changed afterwards. The id is a
-- UUIDv7 made of `at`, so the order of ids is the order of time. Definitions of tasks are not repeated here: `before` and `after`
-- name their versions.
create table audit_entry (
  id           uuid not null,
  at           timestamptz not null,
  -- All zeros: the installation itself, and no project.
  project_id   uuid not null,
  actor_kind   text not null,
  -- Of a key, a person or a worker its id, of a caller without credentials its address, of Belfry itself the part.
  actor_id     text,
  actor_name   text,
  address      text,
  request_id   uuid,
  action       text not null,
  subject_kind text not null,
  subject_id   text,
  subject_name text,
  -- More than 1 where refusals of one minute were counted together.
  count        integer not null default 1,
  before       json,
  after        json,
  reason       text
) partition by range (at);

create index audit_entry_by_project on audit_entry (project_id, id);
create index audit_entry_by_subject on audit_entry (project_id, subject_id, id);
create index audit_entry_by_actor on audit_entry (project_id, actor_id, id);
-- Tasks that were created and runs that were asked for are most of all entries, and are soon found in the order of time.
create index audit_entry_by_action on audit_entry (project_id, action, id) where action not in ('task.create', 'task.trigger');
-- For those who follow the log of all projects.
create index audit_entry_by_time on audit_entry using brin (at) with (autosummarize = on);

-- An entry for which there is no partition, because nobody has made one in time or the clock is wrong, is kept here: no change
-- may fail for want of a partition.
create table audit_entry_other partition of audit_entry default;

create function refuse_change_of_audit_entry() returns trigger language plpgsql as $$
begin
  raise exception 'entries of the audit log cannot be changed or deleted';
end $$;

create trigger audit_entry_is_append_only before update or delete on audit_entry
  for each row execute function refuse_change_of_audit_entry();

-- Makes the partitions of this month and of the months to come. Safe on every node at once, like ensure_partitions. Attaching one
-- fails while the default partition has entries of its month; these and those to come stay there.
create function ensure_audit_partitions(months_ahead integer) returns integer language plpgsql as $$
declare
  this_month date := date_trunc('month', now() at time zone 'UTC')::date;
  month      date;
  next_month date;
  name       text;
  made       integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  for month in select generate_series(this_month, this_month + make_interval(months => months_ahead), '1 month')::date loop
    name := 'audit_entry_' || to_char(month, 'YYYYMM');
    next_month := (month + interval '1 month')::date;
    continue when to_regclass(name) is not null
      or exists (select from audit_entry_other where at >= month::timestamp at time zone 'UTC' and at < next_month::timestamp at time zone 'UTC');
    execute format('create table %I (like audit_entry including defaults including constraints)', name);
    execute format('alter table audit_entry attach partition %I for values from (%L) to (%L)',
      name, month::text || ' 00:00:00+00', next_month::text || ' 00:00:00+00');
    made := made + 1;
  end loop;
  return made;
end $$;

-- Drops a partition whose last entry is older than entries are kept, and empties the default partition once that holds for it.
-- Gives up rather than let others queue up behind a long wait, like drop_partitions.
create function drop_audit_partitions(days_kept integer) returns integer language plpgsql as $$
declare
  first_kept timestamptz := now() - make_interval(days => days_kept);
  name       text;
  dropped    integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  perform set_config('lock_timeout', '300ms', true);
  for name in
    select c.relname from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'audit_entry'::regclass and c.relname <> 'audit_entry_other'
      and (to_date(right(c.relname, 6), 'YYYYMM') + interval '1 month') at time zone 'UTC' <= first_kept
    order by right(c.relname, 6) limit 1
  loop
    execute format('drop table %I', name);
    dropped := dropped + 1;
  end loop;
  if (select max(at) from audit_entry_other) < first_kept then
    truncate audit_entry_other;
    dropped := dropped + 1;
  end if;
  return dropped;
end $$;

-- The same for the audit log, all of whose partitions have names that sort after any day.
create or replace function summarise_history() returns integer language plpgsql as $$
declare
  oldest text := to_char((now() at time zone 'UTC')::date - 2, 'YYYYMMDD');
  index  regclass;
  ranges integer := 0;
begin
  perform set_config('lock_timeout', '100ms', true);
  for index in
    select i.inhrelid from pg_inherits i
    join pg_index x on x.indexrelid = i.inhrelid
    join pg_class c on c.oid = x.indrelid
    where i.inhparent in ('run_by_end'::regclass, 'attempt_by_end'::regclass, 'audit_entry_by_time'::regclass) and right(c.relname, 8) >= oldest
  loop
    begin
      ranges := ranges + brin_summarize_new_values(index);
    exception when lock_not_available then
    end;
  end loop;
  return ranges;
end $$;

select ensure_audit_partitions(3);
