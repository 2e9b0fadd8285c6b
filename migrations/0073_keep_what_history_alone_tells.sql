-- How many runs of a backfill failed or were cancelled whose history is deleted: the completed ones are counted as the rest of those that
-- were started. Once a backfill has stored its counts, these no longer matter.
alter table backfill
  add column deleted_failed    integer not null default 0,
  add column deleted_cancelled integer not null default 0;

-- The same as before; counts the runs of backfills in what it drops.
create or replace function drop_partitions(days_kept integer) returns integer language plpgsql as $$
declare
  first_kept text := to_char((now() at time zone 'UTC')::date - longest_history(days_kept), 'YYYYMMDD');
  name       text;
  dropped    integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  perform set_config('lock_timeout', '300ms', true);
  for name in
    select c.relname from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent in ('run'::regclass, 'attempt'::regclass, 'run_log'::regclass) and right(c.relname, 8) < first_kept
    order by right(c.relname, 8) limit 3
  loop
    if name = 'run_' || right(name, 8) and exists (select from backfill where completed is null) then
      execute format(
        'update backfill b set deleted_failed = b.deleted_failed + g.failed, deleted_cancelled = b.deleted_cancelled + g.cancelled
         from (
           select task_id, ordinal, count(*) filter (where state = ''permanently_failed'') as failed,
                  count(*) filter (where state <> ''permanently_failed'') as cancelled
           from %I where kind = ''backfill'' and state <> ''completed'' group by task_id, ordinal
         ) g
         where b.task_id = g.task_id and b.number = g.ordinal and b.completed is null', name);
    end if;
    execute format('drop table %I', name);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;

-- Deletes history of projects that keep less than the longest, of a bounded number of pages: a part of one partition is read in the
-- order of its pages, so that no index is needed and none is read twice. Logs go first, then attempts: whose a log is, its run tells.
-- Those of runs that have not ended stay: the list of runs finds retrying ones by their last attempt, and a running attempt adds to its log.
-- A day is begun after the audit has gone once around the tasks since that day was over, and so has stored the ordinals of those that
-- finished on it: after a long outage nothing else would tell how often they ran.
-- Safe on every node at once, and at any point where it is broken off.
create or replace function delete_old_history(days_kept integer, max_pages integer, out deleted integer, out has_more boolean)
language plpgsql as $$
declare
  sweep     retention_sweep;
  gone_from timestamptz;
  partition text;
  pages     bigint;
begin
  deleted := 0;
  has_more := false;
  if not exists (select from project where history_days is not null) and not exists (select from retention_sweep where day is not null) then
    return;
  end if;
  select * into sweep from retention_sweep for update skip locked;
  if not found then
    return;
  end if;
  if sweep.day is null then
    if not exists (
      select from audit_progress
      where round_ended_at - make_interval(secs => round_ms / 1000.0) >= ((now() at time zone 'UTC')::date - 1)::timestamp at time zone 'UTC'
    ) then
      return;
    end if;
    sweep.day := begin_retention_sweep(days_kept);
    if sweep.day is null then
      return;
    end if;
    sweep.parent := 'run_log';
  end if;
  has_more := true;
  gone_from := sweep.day::timestamp at time zone 'UTC';
  partition := format('%s_%s', sweep.parent, to_char(sweep.day, 'YYYYMMDD'));
  -- Nobody drops the partition meanwhile.
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  pages := pg_relation_size(to_regclass(partition)) / current_setting('block_size')::integer;
  if pages > sweep.page then
    execute format(
      case sweep.parent
        when 'run' then
          'with gone as (
             delete from only %1$I r
             where r.ctid >= %2$L::tid and r.ctid < %3$L::tid
               and r.project_id in (select project_id from retention where history_from > %4$L)
             returning r.*
           ), backfilled as (
             update backfill b set deleted_failed = b.deleted_failed + g.failed, deleted_cancelled = b.deleted_cancelled + g.cancelled
             from (
               select task_id, ordinal, count(*) filter (where state = ''permanently_failed'') as failed,
                      count(*) filter (where state <> ''permanently_failed'') as cancelled
               from gone where kind = ''backfill'' and state <> ''completed'' group by task_id, ordinal
             ) g
             where b.task_id = g.task_id and b.number = g.ordinal and b.completed is null
           ), overrides as (
             delete from run_override o using gone where o.run_id = gone.run_id
           ), retries as (
             delete from run_retry t using gone where t.run_id = gone.run_id
           ), settled as (
             delete from dead_letter_settled s using gone where s.run_id = gone.run_id
           )
           select count(*) from gone'
        when 'attempt' then
          'with gone as (
             delete from only %1$I a
             where a.ctid >= %2$L::tid and a.ctid < %3$L::tid
               and (select t.project_id from task t where t.id = a.task_id)
                   in (select project_id from retention where history_from > %4$L)
               and not exists (select from agenda g where g.run_id = a.run_id)
             returning 1
           )
           select count(*) from gone'
        else
          'with gone as (
             delete from only %1$I l
             where l.ctid >= %2$L::tid and l.ctid < %3$L::tid
               and coalesce(
                 (select r.project_id from run r where r.run_id = l.run_id and r.ended_at >= %4$L and r.ended_at < %5$L limit 1),
                 case when not exists (select from agenda g where g.run_id = l.run_id)
                      then (select r.project_id from run r where r.run_id = l.run_id and r.ended_at >= %5$L limit 1) end)
                   in (select project_id from retention where history_from > %4$L)
             returning 1
           )
           select count(*) from gone'
      end,
      partition, format('(%s,0)', sweep.page), format('(%s,0)', sweep.page + max_pages),
      gone_from, gone_from + interval '2 days') into deleted;
  end if;
  sweep.page := sweep.page + max_pages;
  if sweep.page >= coalesce(pages, 0) then
    sweep.page := 0;
    sweep.parent := case sweep.parent when 'run_log' then 'attempt' when 'attempt' then 'run' end;
  end if;
  update retention_sweep set day = case when sweep.parent is not null then sweep.day end, parent = sweep.parent, page = sweep.page;
end $$;
