-- What PostgreSQL refuses to write, so that people see it: one row for each run, backfill, subscription and so on that was set
-- aside alone while the rest of its batch went on. It counts as settled once the same write has succeeded.
create table refused_row (
  id         uuid primary key,
  operation  text not null,                  -- what could not be done: fire, record, claim, …
  subject    text not null,                  -- the id of what it could not be done to
  project_id uuid,                           -- null: it concerns the installation as a whole
  task_id    uuid,
  run_id     uuid,
  error      text not null,
  tries      integer not null default 1,
  first_at   timestamptz not null default now(),
  last_at    timestamptz not null default now(),
  settled_at timestamptz,
  constraint refused_row_is_single unique (operation, subject)
) with (fillfactor = 70);
create index refused_row_unsettled on refused_row (last_at) where settled_at is null;
create index refused_row_by_age on refused_row (last_at);

-- Makes the partitions of one day, for what ended then and is written only now. Like ensure_partitions it is safe on every node
-- at once; what was detached is attached again. Days that no clock in order can mean are left alone.
create function ensure_partitions_of(instant timestamptz) returns integer language plpgsql as $$
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
  foreach parent in array array['run', 'attempt'] loop
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
