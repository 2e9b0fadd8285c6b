-- A task that names a file which has not been uploaded yet is paused, not by a user but until the file is complete. It then goes on by
-- itself. Outside of a pause the column says nothing: nodes of an older release end a pause without it.
alter table task add column awaits_files boolean not null default false;
create index task_that_awaits_files on task (id) where awaits_files and paused_at is not null and cancelled_at is null;
