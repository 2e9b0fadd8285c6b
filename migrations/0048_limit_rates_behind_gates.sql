-- A gate can limit how often runs start, beside how many are in progress. What is kept of the starts is one instant: when the next one
-- would be due if they were spread evenly. A start may come before that by as much as the burst allows. So the rate is exact over all
-- nodes, and nothing has to be refilled.
alter table gate
  -- As users write it, such as 10/s, and how many may start at once; null for no limit, and for the default burst.
  add column rate        text,
  add column burst       integer,
  -- The same in microseconds: from one start to the next, and how far the starts of a burst may be ahead.
  add column rate_gap    bigint,
  add column rate_window bigint,
  -- When the next start would be due, and when the latest claim took its first run.
  add column next_at     timestamptz,
  add column taken_at    timestamptz,
  add constraint gate_rate_is_complete check (
    num_nonnulls(rate, rate_gap, rate_window) in (0, 3) and rate_gap > 0 and rate_window % rate_gap = 0 and rate_window > 0),
  add constraint gate_burst_needs_a_rate check (burst is null or (burst > 0 and rate is not null));
