-- A row grows by a seventh when it begins to run: it is given a worker and the instant of the claim. Rows that come due
-- together are neighbours and are fired by one statement, which cannot reuse what it leaves behind; with pages
-- filled to half, every tenth found no room beside itself and moved, to the cost of all indexes.
alter table agenda set (fillfactor = 45);
