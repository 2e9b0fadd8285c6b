-- Tasks of one owner, and tasks that are paused or cancelled, newest first. Without these a search walks over all tasks
-- that were made since. Building them keeps no writer waiting.
create index concurrently if not exists task_of_owner on task (project_id, owner, id) where owner is not null and deleted_at is null;
create index concurrently if not exists task_paused_by_age on task (project_id, id) where paused_at is not null and cancelled_at is null;
create index concurrently if not exists task_cancelled_by_age on task (project_id, id) where cancelled_at is not null and deleted_at is null;

-- Rows that wait for another instant than the one they were due at: retries, deferred runs and what is made up for. They
-- make their task pending, and are found among all that lies ahead. What decides is never changed by firing, claiming or
-- ending a run, so those stay as cheap as they were, and a row that is on time never enters the index.
create index concurrently if not exists agenda_put_off on agenda (shard, wake_at)
  where wake_at > scheduled_for and (jitter_ms is null or wake_at - scheduled_for > make_interval(secs => jitter_ms / 1000.0 + 0.001));
