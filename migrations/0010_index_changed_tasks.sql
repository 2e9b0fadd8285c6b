-- Tasks in the order in which they were changed, for those who watch. A task that was only ever made is not in
-- it, so making tasks costs nothing more; what was made lately is told by its id.

create index task_by_change on task (project_id, updated_at) where updated_at > created_at;
