-- What attempts write while they are under way: output of programs and lines of handlers. A row is a piece of it, of one line or
-- many. Partitions are made of the day on which the attempt was claimed, so that all rows of an attempt are in one: its rows are
-- unique whoever writes them, and are dropped together, with the history of the day.
create table run_log (
  run_id        uuid not null,
  fence         integer not null,            -- tells the attempts of a run apart, and orders them
  seq           integer not null,            -- the rows of an attempt, counted from 0; the largest integer: what was left out
  claimed_at    timestamptz not null,
  attempt       smallint not null,
  stream        text not null,
  level         text,
  at            timestamptz not null,
  text          text not null,
  bytes         integer not null,            -- what the attempt has used of its limit, with this row
  next_line     integer,                     -- of a remote worker: the number of the line that comes after this row
  omitted_lines bigint,                      -- what was beyond a limit; of the last row alone
  omitted_bytes bigint,
  constraint run_log_is_single primary key (run_id, fence, seq, claimed_at)
) partition by range (claimed_at);

-- The same as before, for a third table.
create or replace function ensure_partitions(days_ahead integer) returns integer language plpgsql as $$
declare
  today  date := (now() at time zone 'UTC')::date;
  parent text;
  day    date;
  name   text;
  made   integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  foreach parent in array array['run', 'attempt', 'run_log'] loop
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

create or replace function ensure_partitions_of(instant timestamptz) returns integer language plpgsql as $$
declare
  day    date := (instant at time zone 'UTC')::date;
  parent text;
  name   text;
  made   integer := 0;
begin
  if instant < now() - interval '10 years' or instant > now() + interval '8 days' then
    return 0;
  end if;
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  foreach parent in array array['run', 'attempt', 'run_log'] loop
    name := parent || '_' || to_char(day, 'YYYYMMDD');
    continue when exists (select from pg_inherits where inhrelid = to_regclass(name));
    if to_regclass(name) is null then
      execute format('create table %I (like %I including defaults including constraints)', name, parent);
    end if;
    execute format('alter table %I attach partition %I for values from (%L) to (%L)',
      parent, name, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
    made := made + 1;
  end loop;
  return made;
end $$;

create or replace function drop_partitions(days_kept integer) returns integer language plpgsql as $$
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
    where i.inhparent in ('run'::regclass, 'attempt'::regclass, 'run_log'::regclass) and right(c.relname, 8) < first_kept
    order by right(c.relname, 8) limit 3
  loop
    execute format('drop table %I', name);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;
