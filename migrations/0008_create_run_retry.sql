-- Which run was asked for to repeat which. Only what users ask for has a row here, so runs by schedule pay
-- nothing for it; the rows go with the history that they are about.

create table run_retry (
  run_id   uuid primary key,
  retry_of uuid not null
);

create index run_retry_by_origin on run_retry (retry_of, run_id);
