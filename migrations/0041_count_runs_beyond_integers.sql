-- Which one of its task's runs a row is was an integer, which `every 10ms` uses up in 248 days. The count is now ordinal_base + ordinal:
-- ordinal goes round after 2 000 000 000, which is the largest maxRuns there is, and ordinal_base has the rest.
--
-- Changing the type of a column would rewrite the table under a lock that stops everything. A second bigint beside the integer would
-- make every row wider, and the integer, which the release before this one reads and raises by one, would have to stop at its largest
-- value, where that release fails. This way columns that are null are added, which takes no time whatever the tables hold; they stay
-- null for nearly every task, and cost nothing; and the release before always finds a small ordinal. What it writes after a row of a
-- later round is counted from the beginning of that round: no maxRuns is so large that it could be reached once more.
alter table agenda add column ordinal_base bigint;
alter table run add column ordinal_base bigint;

create function count_of(base bigint, part integer) returns bigint language sql immutable as $$
  select coalesce(base, 0) + part
$$;

create function part_of_count(count bigint) returns integer language sql immutable as $$
  select ((count - 1) % 2000000000 + 1)::integer
$$;

create function base_of_count(count bigint) returns bigint language sql immutable as $$
  select nullif((count - 1) / 2000000000 * 2000000000, 0)
$$;
