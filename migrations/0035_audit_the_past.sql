-- Besides the walk over tasks that recur there are two more: over one-offs, and over the minutes of history that were counted.
-- Whoever holds the row of a walk does its next slice, the others leave it be.
create table audit_walk (
  name           text primary key,
  -- Where the next slice begins; null: at the beginning.
  position       text,
  next_pass_at   timestamptz not null default now(),
  round_ended_at timestamptz
) with (fillfactor = 50);
insert into audit_walk (name) values ('one_offs'), ('history');

-- Rows that are gone from history leave nothing that says whose they were.
alter table audit_finding alter column task_id drop not null;
alter table audit_finding drop constraint audit_finding_kind_is_known;
alter table audit_finding add constraint audit_finding_kind_is_known
  check (kind in ('next_row_lost', 'one_off_lost', 'resume_row_lost', 'skip_row_lost', 'ready_row_lost', 'held_by_the_dead',
                  'history_rows_lost'));
