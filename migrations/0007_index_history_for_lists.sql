-- Lists of runs over all tasks, by index, at no cost to a run that completes.
--
-- The latest runs are read along ended_at in short stretches of time, through its BRIN. A stretch that no
-- summary speaks for is read whole, and without autosummarize that is everything since the last vacuum: up
-- to a fifth of the day. What did not complete is a small part of history and has b-trees of its own, so that
-- a search for it passes over none of the rest.

drop index run_by_end;
create index run_by_end on run using brin (ended_at) with (autosummarize = on);
create index attempt_by_end on attempt using brin (ended_at) with (autosummarize = on);

drop index run_that_failed;
create index run_by_state on run (project_id, state, ended_at desc, run_id desc) where state <> 'completed';
create index run_by_task_and_state on run (task_id, state, scheduled_for desc, run_id desc) where state <> 'completed';

-- Summarises what autovacuum was not there for, or was asked for more often than it can remember. It waits
-- for nobody: whoever waits for a table that autovacuum is working on makes it give up.
create function summarise_history() returns integer language plpgsql as $$
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
    where i.inhparent in ('run_by_end'::regclass, 'attempt_by_end'::regclass) and right(c.relname, 8) >= oldest
  loop
    begin
      ranges := ranges + brin_summarize_new_values(index);
    exception when lock_not_available then
    end;
  end loop;
  return ranges;
end $$;
