-- Files that were not used for long are looked for in two ways: unfinished ones go after a day, all others much later.
drop index file_by_use;
create index file_ready_by_use on file (used_at) where ready_at is not null;
create index file_waiting_by_use on file (used_at) where ready_at is null;
