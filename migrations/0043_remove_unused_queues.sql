-- Queues that nobody has used for long are removed. When one was last used: whoever registers a lane of it says so, and a walk
-- over tasks and live rows says so of what they name. It is renewed once an hour at most.
alter table queue add column used_at timestamptz not null default now();
create index queue_by_use on queue (used_at);

-- Deleting a queue makes PostgreSQL look for gates that refer to it, those of keys and its own, which no partial index finds.
create index gate_by_queue on gate (project_id, queue);
drop index gate_of_key;

-- What was not in use when a round began may be removed once the round has ended.
alter table audit_walk
  add column began_at timestamptz,
  -- When the last round began that has ended.
  add column complete_since timestamptz;
insert into audit_walk (name) values ('queues');

-- Nodes of older builds remember lanes for ever and say nothing of what they use: while one of them lives no queue is removed.
alter table node add column renews_queues boolean not null default false;
