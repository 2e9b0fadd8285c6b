-- What makes up for an outage is looked for each second, among all that is due. With a long backlog of other work that
-- walked over every row of it to find none; these rows have an index of their own, in which the others take no part.
create index agenda_late on agenda (shard, wake_at) where kind = 'catchup';
