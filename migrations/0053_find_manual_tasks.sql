-- Tasks that run only when triggered have no live row to count them by.
create index concurrently if not exists task_that_is_manual on task (project_id, id)
  where cancelled_at is null and ((definition -> 'schedule') ->> 'type') = 'manual';
