-- A row that fills a page is written here and rolled back, to learn whether the database can be written to: that its disk
-- has room for one more page shows only when a file has to grow. The table is always empty; nothing locks it but vacuum.
create table write_check (filler text not null);
-- Kept in the page itself, and as long as it is.
alter table write_check alter column filler set storage plain;
