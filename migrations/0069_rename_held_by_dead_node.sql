-- A finding is named for what is wrong. Nodes of an earlier release may still write the former name while the cluster is upgraded;
-- it is read as the new one.
alter table audit_finding drop constraint audit_finding_kind_is_known;
update audit_finding set kind = 'held_by_dead_node' where kind = 'held_by_the_dead';
alter table audit_finding add constraint audit_finding_kind_is_known
  check (kind in ('next_row_lost', 'one_off_lost', 'resume_row_lost', 'skip_row_lost', 'ready_row_lost', 'held_by_dead_node',
                  'history_rows_lost', 'held_by_the_dead'));
