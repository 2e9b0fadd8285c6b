-- 0.1.0 did not store how often a task had run when it settled a task that had reached maxRuns. Once retention deletes the runs of such
-- a task, an edit of its schedule would count from one. While history still tells, the audit settles these tasks again and stores it.
-- A task that somebody is changing is left out: the change stores it.
update task set settled_as_of = null
where id in (
  select id from task t
  where settled_as_of = updated_at and paused_at is null and cancelled_at is null
    and next_ordinal <= (definition ->> 'maxRuns')::bigint
    and exists (select from run where task_id = t.id and kind in ('occurrence', 'catchup'))
  order by id for update skip locked);
