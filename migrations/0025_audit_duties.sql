-- Pauses that end by themselves and occurrences that are to be skipped live by a row of the agenda each. The audit looks
-- whether it is there, along an index that holds such tasks alone.

create index task_with_a_duty on task (id)
  where cancelled_at is null and (resume_at is not null or skip_until is not null);

alter table audit_finding drop constraint audit_finding_kind_is_known;
alter table audit_finding add constraint audit_finding_kind_is_known
  check (kind in ('next_row_lost', 'resume_row_lost', 'skip_row_lost', 'ready_row_lost', 'held_by_the_dead'));
