-- The oldest build that may use this database, named by the last migration that it knows. A migration that takes away
-- something which older builds use raises it; builds from there on work beside newer ones. The table has one row.
create table compatibility (
  is_only_row boolean primary key default true,
  oldest_migration integer not null,
  constraint compatibility_has_one_row check (is_only_row)
);

insert into compatibility (oldest_migration) values (31);
