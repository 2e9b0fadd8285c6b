-- When attempts last sent a heartbeat of their own (POST /health_check). Every attempt lives by the heartbeats of its worker from its claim
-- on; one that has sent its own is lost as well when these stop.
create table attempt_beat (
  run_id   uuid not null,
  fence    integer not null,
  task_id  uuid not null,
  at       timestamptz not null default clock_timestamp(),
  finished boolean not null default false,
  pod_name varchar(255) not null,
  constraint attempt_beat_pkey primary key (run_id, fence)
) with (fillfactor = 50);
