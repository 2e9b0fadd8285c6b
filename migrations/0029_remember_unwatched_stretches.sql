-- Stretches of time in which nobody watched a shard. Who takes it finds what was missed; but it may pass the shard on before it has
-- come to that, and the next owner must treat it as missed too, and not as late. Few and short-lived.
create table unwatched (
  shard    smallint not null,
  from_at  timestamptz not null,
  until_at timestamptz not null,
  constraint unwatched_pkey primary key (shard, until_at),
  constraint unwatched_is_a_stretch check (from_at < until_at)
);
