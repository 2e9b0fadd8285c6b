-- The live row of every occurrence, from the moment it is scheduled until it ends. Narrow, half-full
-- pages, and no index that mentions state, worker, fence or attempt: claiming a run is a HOT update.

create type agenda_kind as enum ('occurrence', 'manual', 'catchup', 'resume');
create type agenda_state as enum ('scheduled', 'pending', 'running', 'retrying');

create table agenda (
  run_id        uuid not null,
  task_id       uuid not null,
  project_id    uuid not null,
  wake_at       timestamptz not null,        -- when somebody must look at the row: due, or retry instant
  scheduled_for timestamptz not null,        -- the nominal instant; never moves
  claimed_at    timestamptz,
  cancel_at     timestamptz,                 -- a user asked that the running attempt be stopped
  serial        bigint not null default 0,   -- tells manual runs of the same millisecond apart
  lane          bigint not null default 0,
  gate_id       bigint,                      -- the gate of its key that this run holds a place of, while it runs
  queue_gate_id bigint,                      -- the same for the gate of its queue
  delay_ms      bigint,                      -- set: whatever ends this run writes the next row, this much later
  worker_id     uuid,
  version       integer not null,
  ordinal       integer not null,            -- which one of the task's runs this is, for maxRuns
  fence         integer not null default 0,  -- grows with each claim and each taking back
  late_ms       bigint,                      -- lateness of the first attempt, once there was one
  shard         smallint not null,
  priority      smallint not null default 0,
  attempt       smallint not null default 0, -- claims so far
  losses        smallint not null default 0, -- claims of them that ended with the worker's death
  kind          agenda_kind not null default 'occurrence',
  state         agenda_state not null default 'scheduled',
  constraint agenda_pkey primary key (run_id) with (fillfactor = 70),
  constraint agenda_occurrence_is_unique unique (task_id, scheduled_for, kind, serial),
  constraint agenda_running_has_a_lease check ((state = 'running') = (worker_id is not null)),
  constraint agenda_shard_exists check (shard between 0 and 63)
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0
);

create index agenda_due on agenda (shard, wake_at);

-- Runs that were due and found no free worker. A lane is served by priority, then by due time.
create table ready (
  lane     bigint not null,
  priority smallint not null,
  wake_at  timestamptz not null,
  run_id   uuid not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

create index ready_in_order on ready (lane, priority, wake_at, run_id);

create sequence agenda_serial;
