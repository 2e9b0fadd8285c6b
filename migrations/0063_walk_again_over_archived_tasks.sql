-- Whether the walk over the tasks of an archived or restored project has left some as they were: then it begins again.
alter table project add column sweep_left_some boolean not null default false;
