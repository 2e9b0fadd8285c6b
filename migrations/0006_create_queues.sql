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

-- Lanes of which only so many runs may be in progress at once: those of one concurrency key. Whoever takes
-- a run off such a lane locks its gate, so the places are counted right and the order of the lane holds.
create table gate (
  id         bigint primary key,             -- the lane's id
  project_id uuid not null,
  queue      text not null,
  labels     text[] not null default '{}',
  key        text not null,
  places     integer not null,
  held       integer not null default 0,
  foreign key (project_id, queue) references queue (project_id, name),
  constraint gate_has_places check (places > 0),
  constraint gate_holds_no_less_than_none check (held >= 0)
) with (fillfactor = 50);

insert into queue (project_id, name) values ('00000000-0000-7000-8000-000000000001', 'default');
insert into lane (id, project_id, queue, strict) values
  (0, '00000000-0000-7000-8000-000000000001', 'default', false),
  (1, '00000000-0000-7000-8000-000000000001', 'default', true);
