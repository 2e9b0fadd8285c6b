-- A scheduler says each second that it watches its shards. It said so in the row of every one of them, and each fire reads
-- these rows to see that they are still its own: while a transaction is open for long no version of them can go, and
-- fires walk over all that there are. Now it says so once, in a row that nobody reads who fires.
create table watch (
  node_id       uuid primary key references node (id) on delete cascade,
  beat          bigint not null,
  watched_until timestamptz not null
) with (fillfactor = 50);

alter table shard drop column beat;

-- shard.watched_until is for what came before its owner's first beat: when it was taken, or given up.
