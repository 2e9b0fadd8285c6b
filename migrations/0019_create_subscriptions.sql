-- Who is told by webhook how runs end. One node at a time delivers for a subscription: it holds the lease, and all it
-- writes compares the fence. `holder` names the lease, not the node: a node may lose one and take another.
create table subscription (
  id               uuid primary key,
  project_id       uuid not null references project(id),
  name             text,
  url              text not null,
  filter           jsonb not null default '{}',
  batch_size       integer not null default 1,
  give_up_after_ms bigint not null,
  secret           text not null,
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now(),
  position         text not null,
  holder           uuid,
  fence            bigint not null default 0,
  leased_until     timestamptz not null default '-infinity',
  delivered        bigint not null default 0,
  last_event_id    text,
  last_event_at    timestamptz,
  failing_since    timestamptz,
  failures         integer not null default 0,
  retry_at         timestamptz not null default '-infinity',
  last_error       jsonb,
  disabled_at      timestamptz,
  constraint subscription_batch_is_positive check (batch_size > 0),
  constraint subscription_disabled_has_a_reason check (disabled_at is null or last_error is not null)
) with (fillfactor = 50);

create index subscription_by_age on subscription (project_id, id);
