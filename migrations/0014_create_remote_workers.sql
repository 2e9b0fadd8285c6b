-- Workers of the users' own, which speak HTTP to api nodes. Each has a row in node as well, with the role remote: it beats,
-- dies and is buried as any node, and its runs are taken back in the same way. This table has what it offers, how it proves
-- who it is, and its latest claim, so that one whose answer was lost is answered again with the same runs.
create table remote_worker (
  id         uuid primary key references node (id) on delete cascade,
  project_id uuid   not null references project (id),
  handlers   text[] not null,
  labels     text[] not null,
  queues     text[],
  token_hash bytea  not null,
  claim_id   uuid,
  claim_runs uuid[] not null default '{}'
) with (fillfactor = 50);

-- Runs of a handler wait in lanes of their own, which only workers that offer it claim from. null: what our workers perform.
alter table lane add column handler text;
alter table gate add column handler text;

-- How far running attempts say they are. It is worth nothing after a crash, so it is not logged.
create unlogged table progress (
  run_id   uuid primary key,
  fence    integer not null,
  fraction real,
  message  text,
  at       timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
