-- Private networks that the calls of a project may reach; null: all that the installation allows. An older node does not
-- know the column and allows what the installation allows.
alter table project add column allowed_private text[];
