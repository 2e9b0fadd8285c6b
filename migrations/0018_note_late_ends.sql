-- Ends that were stored long after they happened, as after an outage of the database or of a worker. Whoever
-- follows history looks at its latest stretch only, and finds here what belongs to an earlier one. Everything
-- else that ends leaves nothing here.
create table late_end (
  run_id    uuid not null,
  ended_at  timestamptz not null,
  stored_at timestamptz not null default clock_timestamp()
);

create index late_end_by_age on late_end (stored_at);
