-- Drops the partitions of the oldest day that is no longer kept, after it has counted the runs of backfills in it: a drop locks out
-- everyone who reads or writes history until the transaction ends, so nothing is read behind the first one. Only backfills that had
-- begun by the end of the day can have runs in it; those of each are found along the index of failed runs, however many others there are.
-- The row of the installation in `retention` says up to when days were dropped.
create or replace function drop_partitions(days_kept integer) returns integer language plpgsql as $$
declare
  first_kept date := (now() at time zone 'UTC')::date - longest_history(days_kept);
  names      text[];
  day        date;
  name       text;
begin
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  perform set_config('lock_timeout', '300ms', true);
  -- The digits are compared as text: a plan may apply this condition to every table, and most names end in no date.
  select to_date(o.digits, 'YYYYMMDD'), o.names into day, names
  from (
    select right(c.relname, 8) as digits, array_agg(c.relname::text order by c.relname) as names
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent in ('run'::regclass, 'attempt'::regclass, 'run_log'::regclass)
    group by 1
  ) o
  where o.digits < to_char(first_kept, 'YYYYMMDD') order by o.digits limit 1;
  if day is null then
    return 0;
  end if;
  name := 'run_' || to_char(day, 'YYYYMMDD');
  if name = any(names) then
    -- A day that was never analysed must not be read as a whole.
    perform set_config('enable_seqscan', 'off', true);
    execute format(
      'update backfill b set deleted_failed = b.deleted_failed + g.failed, deleted_cancelled = b.deleted_cancelled + g.cancelled
       from (
         select o.id, counted.*
         from backfill o cross join lateral (
           select count(*) filter (where r.state = ''permanently_failed'') as failed,
                  count(*) filter (where r.state <> ''permanently_failed'') as cancelled
           from %1$I r
           where r.task_id = o.task_id and r.state in (''permanently_failed'', ''cancelled'', ''skipped'') and r.state <> ''completed''
             and r.kind = ''backfill'' and r.ordinal = o.number and r.scheduled_for >= o.from_at and r.scheduled_for < o.to_at
         ) counted
         where o.completed is null and o.created_at < %2$L
       ) g
       where b.id = g.id and b.completed is null and g.failed + g.cancelled > 0', name, (day + 1)::timestamp at time zone 'UTC');
  end if;
  insert into retention (project_id, history_from)
  values ('00000000-0000-0000-0000-000000000000', (day + 1)::timestamp at time zone 'UTC')
  on conflict (project_id) do update set history_from = excluded.history_from where retention.history_from < excluded.history_from;
  foreach name in array names loop
    execute format('drop table %I', name);
  end loop;
  return cardinality(names);
end $$;

-- The same as before. A run may be stored long after it ended, for instance by a node that was cut off, and its day gets a partition
-- again that was dropped: the rest of that day's history, and of the days behind it, is gone all the same.
create or replace function history_begin(of_project uuid) returns timestamptz language sql stable as $$
  select greatest(
    (select min(to_date(right(c.relname, 8), 'YYYYMMDD'))::timestamp at time zone 'UTC'
     from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'run'::regclass),
    (select max(history_from) from retention where project_id in (of_project, '00000000-0000-0000-0000-000000000000')))
$$;

-- The same as before, but its condition too can be applied to every table.
create or replace function drop_audit_partitions(days_kept integer) returns integer language plpgsql as $$
declare
  first_kept timestamptz := now() - make_interval(days => longest_audit_log(days_kept));
  name       text;
  dropped    integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  perform set_config('lock_timeout', '300ms', true);
  for name in
    select c.relname from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'audit_entry'::regclass and c.relname <> 'audit_entry_other'
      and right(c.relname, 6) < to_char(first_kept at time zone 'UTC', 'YYYYMM')
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
