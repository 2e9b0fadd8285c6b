-- What a project may use. Null: as much as it wants.
alter table project
  -- As users write them, such as 100/s: requests to the API, and runs that start.
  add column request_rate      text,
  add column run_rate          text,
  -- Runs in progress at once.
  add column max_running       integer,
  -- Tasks that are not finished, cancelled or deleted, and the bytes of their definitions, each and together.
  add column max_tasks         integer,
  add column max_payload_bytes integer,
  add column max_stored_bytes  bigint,
  add constraint project_uses_something check (
    max_running > 0 and max_tasks >= 0 and max_payload_bytes > 0 and max_stored_bytes >= 0);

-- A key may be stricter than its project.
alter table api_key
  add column request_rate      text,
  add column min_period_ms     bigint,
  add column max_ahead_ms      bigint,
  add column max_payload_bytes integer,
  add constraint api_key_limits_are_positive check (min_period_ms > 0 and max_ahead_ms > 0 and max_payload_bytes > 0),
  add constraint api_key_limits_leave_room check (min_period_ms <= max_ahead_ms);

-- What the requests of a project or a key have used of its rate. A row that is lost is a quota that is full.
create unlogged table request_quota (
  id      uuid not null,
  -- When the next request would be due if they were spread evenly.
  next_at timestamptz not null,
  constraint request_quota_pkey primary key (id)
) with (fillfactor = 50);

-- How many tasks a project with a limit has, and how many bytes of definitions: at most so many, since tasks that end are not
-- deducted. They are counted again when the limit seems to be reached.
create table project_use (
  project_id uuid not null,
  tasks      bigint not null default 0,
  bytes      bigint not null default 0,
  counted_at timestamptz,
  -- Since when creators of tasks know of the limit.
  since      timestamptz not null default now(),
  constraint project_use_pkey primary key (project_id),
  constraint project_use_project_id_fkey foreign key (project_id) references project(id)
);
