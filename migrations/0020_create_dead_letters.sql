-- What failed for good is history, which is never written again. Which of it somebody has taken care of stands here:
-- a row a run, made when it was run again or dismissed. The rest is open.
create table dead_letter_settled (
  run_id     uuid primary key,
  ended_at   timestamptz not null,
  how        text not null,
  settled_at timestamptz not null default now(),
  constraint dead_letter_settled_is_known check (how in ('redriven', 'dismissed'))
);

create index dead_letter_settled_by_age on dead_letter_settled (ended_at);

-- Running many dead letters again, slowly. One api node at a time works on it, by lease and fence; which ones are done
-- is told by the rows above, so whoever goes on does none twice.
create table redrive (
  id           uuid primary key,
  project_id   uuid not null references project(id),
  filter       jsonb not null,
  rate         double precision not null,
  state        text not null default 'running',
  created_at   timestamptz not null default now(),
  ended_at     timestamptz,
  redriven     integer not null default 0,
  refused      integer not null default 0,
  waiting      integer not null default 0,
  last_error   text,
  fence        bigint not null default 0,
  leased_until timestamptz not null default '-infinity',
  constraint redrive_state_is_known check (state in ('running', 'completed', 'cancelled', 'expired')),
  constraint redrive_rate_is_positive check (rate > 0)
);

create index redrive_by_age on redrive (project_id, id);

-- What errors have in common: their message without what differs from one to the next.
create function common_message(error jsonb) returns text language sql immutable parallel safe as $$
  select regexp_replace(regexp_replace(left(coalesce(error ->> 'message', ''), 300),
           '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|0x[0-9a-fA-F]+|\m[0-9a-fA-F]{16,}\M', '…', 'g'),
           '\d+', '…', 'g')
$$;

create function error_fingerprint(error jsonb) returns text language sql immutable parallel safe as $$
  select left(md5(concat_ws('|', coalesce(error ->> 'code', ''), coalesce(error -> 'detail' ->> 'status', ''), common_message(error))), 16)
$$;
