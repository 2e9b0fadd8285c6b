-- The last number that tasks of a project were given. Only tasks that were created with POST /task/create have one, in their key.
create table task_number (
  project_id uuid primary key references project (id),
  last       integer not null
);
