-- A run may stand in the name of a remote worker that never heard of it, because the answer to its claim was lost and it did not ask again. Workers name
-- the runs in hand with their heartbeats; what none of them has named for a lease is handed back. Since when a worker has named runs without a
-- gap, and when it last did, stands with its beat.
alter table node add column naming_since timestamptz, add column named_at timestamptz;

-- When runs that are in hand for longer were last named: short ones have no row here.
create table named_run (
  run_id uuid primary key,
  fence  integer not null,
  at     timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
