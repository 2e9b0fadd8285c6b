-- Answers already given, by Idempotency-Key, so that a repeated create or trigger does nothing twice.

create table idempotency (
  project_id  uuid not null,
  key         text not null,
  fingerprint bytea not null,                -- of method, path and body: the same key may not mean two things
  status      integer not null,
  answer      jsonb not null,
  created_at  timestamptz not null default now(),
  primary key (project_id, key)
);

create index idempotency_by_age on idempotency (created_at);
