-- What files consist of, each once in a project: files with the same bytes share them. A content grows until the upload is complete;
-- then its hash is known and it never changes. One that no file refers to any more is dropped: its chunks are deleted later, some at
-- a time.
create table file_content (
  id           uuid primary key,
  project_id   uuid not null references project (id),
  received     bigint not null default 0,
  sha256       text,
  kind         text,
  architecture text,
  interpreter  text,
  created_at   timestamptz not null default now(),
  dropped_at   timestamptz,
  constraint file_content_received_is_positive check (received >= 0),
  constraint file_content_complete_has_a_kind check ((sha256 is null) = (kind is null) or dropped_at is not null),
  constraint file_content_dropped_has_no_hash check (dropped_at is null or sha256 is null)
);
create unique index file_content_once on file_content (project_id, sha256) where sha256 is not null;
create index file_content_of_project on file_content (project_id) where dropped_at is null;
create index file_content_dropped on file_content (dropped_at) where dropped_at is not null;

-- Bytes of a content from a position on. They are stored as they are: programs hardly compress, and reading one chunk then reads no more.
create table file_chunk (
  content_id uuid not null references file_content (id),
  position   bigint not null,
  bytes      bytea not null,
  constraint file_chunk_pkey primary key (content_id, position),
  constraint file_chunk_is_bounded check (octet_length(bytes) between 1 and 262144)
);
alter table file_chunk alter column bytes set storage external;

-- Files of a project. Until one is ready, its size and hash are what its creator announced, if anything.
create table file (
  id                uuid primary key,
  project_id        uuid not null references project (id),
  name              text not null,
  size              bigint,
  sha256            text,
  content_id        uuid references file_content (id),
  created_at        timestamptz not null default now(),
  upload_expires_at timestamptz,
  ready_at          timestamptz,
  used_at           timestamptz not null default now(),
  constraint file_ready_has_content check (ready_at is null or num_nulls(content_id, size, sha256) = 0)
);
create index file_of_project on file (project_id, id);
create index file_by_name on file (project_id, name, id);
create index file_by_hash on file (project_id, sha256, id) where sha256 is not null;
create index file_waiting on file (project_id, id) where ready_at is null;
create index file_by_content on file (content_id);
create index file_by_use on file (used_at);

-- Which tasks name which files. When a task no longer does, its runs of earlier versions still may: the use then ends with that version.
create table file_use (
  file_id       uuid not null references file (id),
  task_id       uuid not null references task (id),
  project_id    uuid not null,
  until_version integer,
  constraint file_use_pkey primary key (file_id, task_id)
);
create index file_use_by_task on file_use (task_id);
