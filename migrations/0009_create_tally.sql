-- What history comes to, minute by minute, counted once each minute has passed: whoever asks for the last
-- hour or day reads rows by the minute and not by the run. It can be made again from history at any time.

create table tally (
  project_id         uuid not null,
  minute             timestamptz not null,
  completed          integer not null,
  permanently_failed integer not null,
  cancelled          integer not null,
  skipped            integer not null,       -- occurrences, of which a row of history may speak for many
  missed             integer not null,       -- of those, the ones that came due while nobody was there
  late               jsonb not null,         -- runs by lateness: the number of each bucket that has any, and how many
  constraint tally_pkey primary key (project_id, minute)
);

-- How far it has come. Whoever counts holds the row.
create table tally_progress (
  is_only       boolean primary key default true,
  counted_until timestamptz not null,
  constraint tally_progress_is_one_row check (is_only)
);

insert into tally_progress (counted_until) values (date_trunc('minute', now() - interval '1 day'));

-- Those whom a pause has made forget are asked for.
create index task_that_is_paused on task (project_id, paused_at) where paused_at is not null and cancelled_at is null;
