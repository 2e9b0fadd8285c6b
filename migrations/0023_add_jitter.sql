-- Occurrences that are put off by chance, so that many of one instant do not all begin at once. The nominal instant
-- stays scheduled_for; wake_at has the two together, and lateness is counted from there. Null for all that have none.

alter table agenda add column jitter_ms integer;
alter table agenda add constraint agenda_jitter_is_positive check (jitter_ms > 0);
