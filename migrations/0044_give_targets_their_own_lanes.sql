-- A run whose target has no room waits beside its lane, in a side lane: of one target, or of what waits for a place on this machine.
-- Side lanes are read only while there is room for what waits in them, so a target that hangs costs nobody else anything. They exist
-- only while a target is full; ordinary runs never meet one.

-- The lane that a run waits in while it is pending, where that is not its own. Null for nearly every row, and then it costs nothing.
alter table agenda add column side bigint;

alter table lane
  -- The lane that this one lies beside.
  add column base bigint,
  -- What there must be room for: a target such as https://api.example.com, or `local`.
  add column line text,
  -- When something was put there last. Side lanes that have been empty for long are removed.
  add column used_at timestamptz;
create index lane_of_line on lane (project_id, line) where line is not null;
