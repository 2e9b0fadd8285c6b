-- Events that were deleted from history, or from the audit log, before they were delivered: from when to when, and when that was noticed.
alter table subscription add column gap jsonb;
