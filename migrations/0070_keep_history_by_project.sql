-- Projects may keep their history and their audit log for a number of days of their own; null: for as long as the nodes say. The
-- longest of all decides when a partition is dropped. Until then, rows of projects that keep less are deleted.
alter table project
  add column history_days integer,
  add column audit_log_days integer,
  add constraint project_retention_in_bounds check (history_days between 1 and 36500 and audit_log_days between 1 and 36500);

-- For the longest of them, and for finding out that there is none.
create index project_with_own_history on project (history_days) where history_days is not null;
create index project_with_own_audit_log on project (audit_log_days) where audit_log_days is not null;

-- What was deleted of projects that keep less than the longest. Rows from before these instants are gone or about to go. An instant
-- moves in the transaction that deletes the first of the rows, and never back: a longer retention brings nothing back.
create table retention (
  -- All zeros: the installation itself, which has an audit log alone.
  project_id           uuid primary key,
  history_from         timestamptz not null default '-infinity',
  audit_log_from       timestamptz not null default '-infinity',
  -- The deleting of entries has come to this id.
  audit_log_deleted_to uuid not null default '00000000-0000-0000-0000-000000000000'
) with (fillfactor = 50);

-- How far the deleting of history has come: the day, which of its three partitions, and the page of it. Whoever deletes anything by
-- the retention of a project, be it history or the audit log, holds this row.
create table retention_sweep (
  is_only boolean primary key default true,
  day     date,
  parent  text,
  page    bigint not null default 0,
  constraint retention_sweep_is_one_row check (is_only),
  constraint retention_sweep_is_somewhere check ((day is null) = (parent is null))
) with (fillfactor = 50);
insert into retention_sweep default values;

create function longest_history(days_kept integer) returns integer language sql stable as $$
  select greatest(days_kept, (select max(history_days) from project))
$$;

create function longest_audit_log(days_kept integer) returns integer language sql stable as $$
  select greatest(days_kept, (select max(audit_log_days) from project))
$$;

-- From when on the history of a project is complete.
create function history_begin(of_project uuid) returns timestamptz language sql stable as $$
  select greatest(
    (select min(to_date(right(c.relname, 8), 'YYYYMMDD'))::timestamp at time zone 'UTC'
     from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'run'::regclass),
    (select history_from from retention where project_id = of_project))
$$;

-- The least UUIDv7 of an instant; of one before 1970, the least of all.
create function least_uuid_at(at timestamptz) returns uuid language sql immutable as $$
  select (overlay(lpad(to_hex(greatest(0, floor(extract(epoch from at) * 1000))::bigint), 12, '0') placing '-' from 9 for 0) || '-0000-0000-000000000000')::uuid
$$;

-- The same as before, and not before the longest retention of a project has passed. Nodes of the release before keep to it, too.
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
    execute format('drop table %I', name);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;

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

-- Entries that the retention of their project has given up can be deleted; no others, and none can be changed.
create or replace function refuse_change_of_audit_entry() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and old.at < (select audit_log_from from retention where project_id = old.project_id) then
    return old;
  end if;
  raise exception 'entries of the audit log cannot be changed or deleted';
end $$;

-- The next day that history is to be deleted of, if there is one; says of the projects concerned that it is gone. Days before the
-- longest retention are left to drop_partitions, and so is everything while no project keeps less than the longest.
create function begin_retention_sweep(days_kept integer) returns date language plpgsql as $$
declare
  today  date := (now() at time zone 'UTC')::date;
  oldest date := greatest(
    today - longest_history(days_kept),
    (select min(to_date(right(c.relname, 8), 'YYYYMMDD'))
     from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent in ('run'::regclass, 'attempt'::regclass, 'run_log'::regclass)));
  found  date;
begin
  with due as (
    select p.id, b.begins from project p
    left join retention r on r.project_id = p.id
    -- Nothing ended in a project before it was made.
    cross join lateral (
      select greatest(oldest, (r.history_from at time zone 'UTC')::date, (p.created_at at time zone 'UTC')::date - 1) as begins
    ) b
    where b.begins < today - coalesce(p.history_days, days_kept)
  ), first as (
    select min(begins) as day from due
  ), marked as (
    insert into retention (project_id, history_from)
    select id, (day + 1)::timestamp at time zone 'UTC' from due join first on begins = day
    on conflict (project_id) do update set history_from = excluded.history_from
      where retention.history_from < excluded.history_from
  )
  select day into found from first;
  return found;
end $$;

-- Deletes history of projects that keep less than the longest, of a bounded number of pages: a part of one partition is read in the
-- order of its pages, so that no index is needed and none is read twice. Logs go first, then attempts: whose a log is, its run tells.
-- Safe on every node at once, and at any point where it is broken off.
create function delete_old_history(days_kept integer, max_pages integer, out deleted integer, out has_more boolean)
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
             returning r.run_id
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
             returning 1
           )
           select count(*) from gone'
        else
          'with gone as (
             delete from only %1$I l
             where l.ctid >= %2$L::tid and l.ctid < %3$L::tid
               and coalesce(
                 (select r.project_id from run r where r.run_id = l.run_id and r.ended_at >= %4$L and r.ended_at < %5$L limit 1),
                 (select a.project_id from agenda a where a.run_id = l.run_id),
                 (select r.project_id from run r where r.run_id = l.run_id and r.ended_at >= %5$L limit 1))
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

-- Deletes entries of the audit log, a bounded number of one project or of the installation, along the index of its entries. Only what
-- the longest retention keeps for others is deleted like this; the rest is left to drop_audit_partitions.
create function delete_old_audit_entries(days_kept integer, max_entries integer, out deleted integer, out has_more boolean)
language plpgsql as $$
declare
  today   date := (now() at time zone 'UTC')::date;
  longest integer := longest_audit_log(days_kept);
  old     record;
  upto    uuid;
begin
  deleted := 0;
  has_more := false;
  if not exists (select from project where audit_log_days is not null) then
    return;
  end if;
  perform from retention_sweep for update skip locked;
  if not found then
    return;
  end if;
  select scope.id, kept.first_at, coalesce(r.audit_log_deleted_to, '00000000-0000-0000-0000-000000000000') as deleted_to into old
  from (
    select id, coalesce(audit_log_days, days_kept) as days from project
    union all
    select '00000000-0000-0000-0000-000000000000', days_kept
  ) scope
  left join retention r on r.project_id = scope.id
  cross join lateral (select (today - scope.days)::timestamp at time zone 'UTC' as first_at) kept
  where scope.days < longest and (r.audit_log_deleted_to is null or r.audit_log_deleted_to < least_uuid_at(kept.first_at))
  limit 1;
  if not found then
    return;
  end if;
  has_more := true;
  insert into retention (project_id, audit_log_from) values (old.id, old.first_at)
  on conflict (project_id) do update set audit_log_from = greatest(retention.audit_log_from, excluded.audit_log_from);
  select id into upto from audit_entry
  where project_id = old.id and id >= old.deleted_to and id < least_uuid_at(old.first_at)
  order by id offset max_entries limit 1;
  upto := coalesce(upto, least_uuid_at(old.first_at));
  delete from audit_entry where project_id = old.id and id >= old.deleted_to and id < upto and at < old.first_at;
  get diagnostics deleted = row_count;
  update retention set audit_log_deleted_to = upto where project_id = old.id;
end $$;
