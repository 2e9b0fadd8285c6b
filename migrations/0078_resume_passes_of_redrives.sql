-- A redrive releases its lease between dead letters, so that others get its slot. The next node continues the pass from here; null
-- between passes. Older nodes begin each pass with the latest dead letter, which costs reading the settled ones again.
alter table redrive add column pass_position jsonb;
