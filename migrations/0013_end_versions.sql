-- The last instant whose occurrence is one of a version's schedule. An edit may find a row that is due, or one that was
-- fired a moment ahead, so when it was made does not tell exactly which of two schedules an instant belongs to.
-- Null for versions that were replaced before this was recorded: replaced_at is as good as it gets there.
alter table task_version add column due_until timestamptz;
