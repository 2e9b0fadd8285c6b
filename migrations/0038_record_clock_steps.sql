-- Each time the database's clock was set, as a node noticed it. What was due meanwhile may have begun early or late, so somebody
-- has to hear of it. Few.
create table clock_step (
  id         uuid not null,
  node_id    uuid not null,
  noticed_at timestamptz not null default clock_timestamp(),
  by_ms      bigint not null,
  constraint clock_step_pkey primary key (id)
);
create index clock_step_by_time on clock_step (noticed_at);
