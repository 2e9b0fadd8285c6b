-- Finds the ended runs of one project behind those of others, however many these are. The project default, which most installations have
-- alone, pays nothing for it: its runs are found along ended_at.
create index concurrently if not exists run_of_project on run (project_id, ended_at) where project_id <> '00000000-0000-7000-8000-000000000001'::uuid;
