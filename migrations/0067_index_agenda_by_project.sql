-- Finds the live rows of one project behind those of others, however many these are. The project of a row never changes, so that claiming
-- stays a HOT update. The project default, which most installations have alone, pays nothing for it: it reads agenda_due.
create index agenda_of_project on agenda (project_id, shard, wake_at) where project_id <> '00000000-0000-7000-8000-000000000001'::uuid;
