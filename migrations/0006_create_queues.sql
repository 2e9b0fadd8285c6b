-- Queues that users choose, and the lanes that runs wait in. A lane is a queue, what its workers must be
-- able to do, and whether its runs may be claimed ahead; its id is a hash of these (core/lane.ts).

create table queue (
  project_id uuid not null references project (id),
  name       text not null,
  paused_at  timestamptz,
  created_at timestamptz not null default now(),
  primary key (project_id, name)
);

create table lane (
  id         bigint primary key,
  project_id uuid not null,
  queue      text not null,
  labels     text[] not null default '{}',
  strict     boolean not null,
  foreign key (project_id, queue) references queue (project_id, name)
);

-- Gates count places: of the runs behind one only so many may be in progress at once. The lane of a concurrency
-- key has one, and every queue has one from the start, which holds nobody back until a user sets a limit. A row
-- that is always there is seen by every statement that gives a place back. Whoever takes runs from behind gates
-- locks them first, so the places are counted right and the order of a key holds.
create sequence queue_gate increment by -1;

create table gate (
  id         bigint primary key default nextval('queue_gate'), -- of a key the lane's id; of a queue below 0, so that it is locked first
  project_id uuid not null,
  queue      text not null,
  labels     text[] not null default '{}',
  key        text,                           -- null: this is the gate of the whole queue
  places     integer,                        -- null: no limit, or none any more
  held       integer not null default 0,
  foreign key (project_id, queue) references queue (project_id, name),
  constraint gate_of_a_queue_comes_first check ((key is null) = (id < 0)),
  constraint gate_of_a_key_has_a_limit check (key is null or places is not null),
  constraint gate_has_places check (places > 0),
  constraint gate_holds_no_less_than_none check (held >= 0)
) with (fillfactor = 50);

create unique index gate_of_queue on gate (project_id, queue) where key is null;

insert into queue (project_id, name) values ('00000000-0000-7000-8000-000000000001', 'default');
insert into lane (id, project_id, queue, strict) values
  (0, '00000000-0000-7000-8000-000000000001', 'default', false),
  (1, '00000000-0000-7000-8000-000000000001', 'default', true);
insert into gate (project_id, queue) values ('00000000-0000-7000-8000-000000000001', 'default');
