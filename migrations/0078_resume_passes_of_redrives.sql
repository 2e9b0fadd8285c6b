-- A redrive releases its lease between dead letters, so that others get its slot. The next node continues the pass from here; null
-- between passes. It names the fence of the lease that stored it: older nodes, which begin with the latest dead letter and store no
-- position, may have the lease in between, and then a new pass begins.
alter table redrive add column pass_position jsonb;
