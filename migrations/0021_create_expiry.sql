-- Runs of tasks with a queueTimeout, and by when each has to have begun. A row is written when the run is fired and looked at when
-- its time is up: if the run still waits then, as the attempt that it was fired for, it ends. Tasks without such a limit have no rows here.
create table expiry (
  run_id     uuid primary key,
  attempt    smallint not null,       -- attempts that had been made when it was fired; a claim adds one, handing back takes it away
  expires_at timestamptz not null
) with (fillfactor = 70);
create index expiry_in_order on expiry (expires_at);
