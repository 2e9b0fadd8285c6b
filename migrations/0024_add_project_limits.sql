-- How often tasks of a project may be due, and how far ahead. Null: as often and as far as Belfry itself allows.

alter table project
  add column min_period_ms bigint,
  add column max_ahead_ms bigint,
  add constraint project_limits_are_positive check (min_period_ms > 0 and max_ahead_ms > 0),
  add constraint project_limits_leave_room check (min_period_ms <= max_ahead_ms);
