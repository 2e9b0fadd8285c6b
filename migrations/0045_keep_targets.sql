-- What users have set for targets: how many calls may be under way in a node, how many may start per second, and whether they are
-- paused. The pattern is an origin such as https://api.example.com, a host, or *.example.com.
create table target_setting (
  project_id   uuid not null references project,
  pattern      text not null,
  -- Calls under way in each node.
  call_limit   integer,
  -- Starts, such as 10/s, over all nodes; and how many of them may come at once.
  rate         text,
  burst        integer,
  paused_at    timestamptz,
  pause_reason text,
  updated_at   timestamptz not null default now(),
  constraint target_setting_pkey primary key (project_id, pattern),
  constraint target_setting_limit check (call_limit > 0),
  constraint target_setting_burst check (burst is null or (burst > 0 and rate is not null)),
  constraint target_setting_reason check (pause_reason is null or paused_at is not null)
);

-- What each node knows about the targets it calls, for people to look at. Nothing is decided by it, so it may be lost at any time.
create unlogged table target_report (
  project_id uuid not null,
  target     text not null,
  node_id    uuid not null,
  -- Nothing is under way and nothing keeps calls back: this stays true without being written again.
  is_idle    boolean not null,
  state      jsonb not null,
  at         timestamptz not null default clock_timestamp(),
  constraint target_report_pkey primary key (project_id, target, node_id)
) with (fillfactor = 50);
create index target_report_of_node on target_report (node_id);

-- Circuits as each node sees them: written when one opens, when its probe fails, and when it closes. Other nodes take an open one as
-- a hint until `until`. Closed ones are kept for a while, for those who watch.
create table target_circuit (
  project_id uuid not null,
  target     text not null,
  node_id    uuid not null,
  state      text not null,
  opened_at  timestamptz not null,
  -- When the next probe is due; null once it is closed.
  until      timestamptz,
  error      jsonb,
  changed_at timestamptz not null default clock_timestamp(),
  constraint target_circuit_pkey primary key (project_id, target, node_id),
  constraint target_circuit_state check (state in ('open', 'closed')),
  constraint target_circuit_until check ((state = 'open') = (until is not null))
);
create index target_circuit_by_change on target_circuit (changed_at);
create index target_circuit_open on target_circuit (until) where state = 'open';
