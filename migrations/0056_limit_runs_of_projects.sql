-- Gates of projects: how many of their runs may be in progress at once, and how often they may start. There is a row only for a
-- project that has, or once had, such a limit. The columns are those of a gate.
create table project_gate (
  project_id  uuid not null,
  places      integer,
  held        integer not null default 0,
  rate        text,
  burst       integer,
  rate_gap    bigint,
  rate_window bigint,
  next_at     timestamptz,
  taken_at    timestamptz,
  constraint project_gate_pkey primary key (project_id),
  constraint project_gate_project_id_fkey foreign key (project_id) references project(id),
  constraint project_gate_has_places check (places > 0),
  constraint project_gate_holds_no_less_than_none check (held >= 0),
  constraint project_gate_rate_is_complete check (
    num_nonnulls(rate, rate_gap, rate_window) in (0, 3) and rate_gap > 0 and rate_window % rate_gap = 0 and rate_window > 0)
) with (fillfactor = 50);

-- Whether a run in progress holds a place behind the gate of its project; null for runs of all other projects.
alter table agenda add column holds_project_place boolean;
