-- Tasks whose events a receiver does not take while it takes those of others: how far each was told, why it failed and
-- when it is tried again. There are few of them and nobody searches them, so they stand in the row that is written anyway.
alter table subscription add column held jsonb not null default '[]';

-- The same tasks, all to be tried again now, with all their patience.
create function try_held_again(held jsonb) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(task || jsonb_build_object('retryAt', 0, 'failures', 0, 'failingSince', floor(extract(epoch from now()) * 1000)) order by n), '[]')
  from jsonb_array_elements(held) with ordinality as _(task, n)
$$;
