-- Rows that wait for another instant than the one they were due at (0042), apart for each project: what a project reads about its own
-- retries does not depend on how many others have. Nothing that is in the index changes when a run is fired, claimed or ended.
create index concurrently if not exists agenda_postponed on agenda (project_id, shard, wake_at)
  where wake_at > scheduled_for and (jitter_ms is null or wake_at - scheduled_for > make_interval(secs => jitter_ms / 1000.0 + 0.001));
drop index concurrently if exists agenda_put_off;
