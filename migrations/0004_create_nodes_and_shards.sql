-- Who is there. A node proves that it lives by changing its beat; whoever watches it counts, on a clock
-- of its own, how long the beat has stood still.

create table node (
  id          uuid primary key,
  name        text not null,
  version     text not null,
  roles       text[] not null,
  concurrency integer not null default 0,
  started_at  timestamptz not null default now(),
  beat        bigint not null default 0,
  beat_at     timestamptz not null default now(),
  dead_at     timestamptz,                   -- declared dead: may claim nothing any more, for ever
  buried_at   timestamptz,                   -- nothing is left in its name
  reason      text                           -- 'stopped' or 'lost'
);

-- Slices of the due index. The owner alone fires what is due in its shards; the fence grows with each
-- owner. watched_until tells the next owner since when nobody was looking.
create table shard (
  id            smallint primary key,
  owner         uuid,
  fence         bigint not null default 0,
  beat          bigint not null default 0,
  watched_until timestamptz not null default now()
) with (fillfactor = 50);

insert into shard (id) select generate_series(0, 63);
