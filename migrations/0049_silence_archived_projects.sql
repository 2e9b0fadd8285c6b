-- What is still to be done to the tasks of a project that was archived or restored, and the last task to which it was done.
alter table project
  add column sweep       text,
  add column sweep_after uuid,
  add constraint project_sweep check (sweep in ('silence', 'restore')),
  add constraint project_default_stays check (archived_at is null or name <> 'default');

-- The task was paused because its project was archived; it goes on when the project is restored.
alter table task add column archived_at timestamptz;
