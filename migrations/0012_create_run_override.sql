-- What somebody who triggered a run wanted otherwise than the task says. Only such runs have a row here, and only
-- manual runs are looked up, so runs by schedule pay nothing for it; the rows go with the history that they are about.

create table run_override (
  run_id   uuid primary key,
  override json not null        -- the fields that were named, as they were named: see core/run-override.ts
);
