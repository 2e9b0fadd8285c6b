-- Circuits of targets that opened and closed, for all nodes together, kept as long as history: readers of events find them beside the runs
-- that ended. A row carries the time at which it was written, as those who follow history rely on.
create table circuit_event (
  id         uuid not null default gen_random_uuid(),
  project_id uuid not null,
  target     text not null,
  -- The calls of the project to the target: events of one line are told in order.
  line_id    uuid not null,
  -- Counts the events of a line: of two nodes that tell the same at the same moment, one is heard.
  number     integer not null,
  event      text not null,
  at         timestamptz not null default clock_timestamp(),
  opened_at  timestamptz not null,
  -- When the next probe is due; null when it closed.
  until      timestamptz,
  error      jsonb,
  constraint circuit_event_pkey primary key (id),
  constraint circuit_event_in_order unique (project_id, target, number),
  constraint circuit_event_kind check (event in ('opened', 'closed')),
  constraint circuit_event_until check ((event = 'opened') = (until is not null))
);
create index circuit_event_by_time on circuit_event (at, id);
