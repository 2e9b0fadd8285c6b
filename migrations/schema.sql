-- The schema that the migrations add up to, for reading: nothing applies this file. A test rebuilds it from
-- the migrations and compares; `npm run schema` writes it. The migrations also say why, insert the default
-- project and the rows of the 64 shards, and make the partitions of run and attempt, one a day, and of
-- audit_entry, one a month.

create type agenda_kind as enum ('occurrence', 'manual', 'catchup', 'resume', 'skip', 'backfill');

create type agenda_state as enum ('scheduled', 'pending', 'running', 'retrying', 'held', 'deferred');

create type run_state as enum ('completed', 'permanently_failed', 'cancelled', 'skipped');

create sequence agenda_serial;

create sequence queue_gate increment by -1 start with -1;

create table agenda (
  run_id              uuid not null,
  task_id             uuid not null,
  project_id          uuid not null,
  wake_at             timestamptz not null,
  scheduled_for       timestamptz not null,
  claimed_at          timestamptz,
  cancel_at           timestamptz,
  serial              bigint not null default 0,
  lane                bigint not null default 0,
  gate_id             bigint,
  queue_gate_id       bigint,
  delay_ms            bigint,
  worker_id           uuid,
  version             integer not null,
  ordinal             integer not null,
  fence               integer not null default 0,
  late_ms             bigint,
  shard               smallint not null,
  priority            smallint not null default 0,
  attempt             smallint not null default 0,
  losses              smallint not null default 0,
  kind                agenda_kind not null default 'occurrence'::agenda_kind,
  state               agenda_state not null default 'scheduled'::agenda_state,
  awaited             boolean not null default false,
  jitter_ms           integer,
  ordinal_base        bigint,
  side                bigint,
  holds_project_place boolean,
  constraint agenda_pkey primary key (run_id) with (fillfactor = 70),
  constraint agenda_occurrence_is_unique unique (task_id, scheduled_for, kind, serial),
  constraint agenda_jitter_is_positive check (jitter_ms > 0),
  constraint agenda_running_has_a_lease check ((state = 'running'::agenda_state) = (worker_id is not null)),
  constraint agenda_shard_exists check (shard >= 0 and shard <= 63)
) with (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0,
  fillfactor = 45
);
create index agenda_due on agenda (shard, wake_at);
create index agenda_late on agenda (shard, wake_at) where kind = 'catchup'::agenda_kind;
create index agenda_of_project on agenda (project_id, shard, wake_at) where project_id <> '00000000-0000-7000-8000-000000000001'::uuid;
create index agenda_postponed on agenda (project_id, shard, wake_at) where wake_at > scheduled_for and (jitter_ms is null or (wake_at - scheduled_for) > make_interval(secs => (jitter_ms::numeric / 1000.0 + 0.001)::double precision));

create table attempt (
  run_id     uuid not null,
  task_id    uuid not null,
  worker_id  uuid,
  started_at timestamptz,
  ended_at   timestamptz not null,
  number     smallint not null,
  fence      integer not null,
  outcome    text not null,
  output     jsonb,
  error      jsonb,
  constraint attempt_outcome_is_known check (outcome = any (array['failed'::text, 'timed_out'::text, 'cancelled'::text, 'worker_lost'::text]))
) partition by range (ended_at);
create index attempt_by_end on attempt using brin (ended_at) with (autosummarize='on');
create index attempt_by_run on attempt (run_id, number);
create index attempt_by_task on attempt (task_id, ended_at desc);

create table attempt_beat (
  run_id   uuid not null,
  fence    integer not null,
  task_id  uuid not null,
  at       timestamptz not null default clock_timestamp(),
  finished boolean not null default false,
  pod_name character varying(255) not null,
  constraint attempt_beat_pkey primary key (run_id, fence)
) with (fillfactor = 50);

create table audit_entry (
  id           uuid not null,
  at           timestamptz not null,
  project_id   uuid not null,
  actor_kind   text not null,
  actor_id     text,
  actor_name   text,
  address      text,
  request_id   uuid,
  action       text not null,
  subject_kind text not null,
  subject_id   text,
  subject_name text,
  count        integer not null default 1,
  before       json,
  after        json,
  reason       text
) partition by range (at);
create index audit_entry_by_action on audit_entry (project_id, action, id) where action <> all (array['task.create'::text, 'task.trigger'::text]);
create index audit_entry_by_actor on audit_entry (project_id, actor_id, id);
create index audit_entry_by_project on audit_entry (project_id, id);
create index audit_entry_by_subject on audit_entry (project_id, subject_id, id);
create index audit_entry_by_time on audit_entry using brin (at) with (autosummarize='on');

create table audit_progress (
  is_only        boolean not null default true,
  walked_to      uuid,
  next_pass_at   timestamptz not null default now(),
  began_at       timestamptz not null default now(),
  tasks          integer not null default 0,
  round_ended_at timestamptz,
  round_ms       integer,
  round_tasks    integer,
  constraint audit_progress_pkey primary key (is_only),
  constraint audit_progress_is_one_row check (is_only)
) with (fillfactor = 50);

create table audit_walk (
  name           text not null,
  position       text,
  next_pass_at   timestamptz not null default now(),
  round_ended_at timestamptz,
  began_at       timestamptz,
  complete_since timestamptz,
  constraint audit_walk_pkey primary key (name)
) with (fillfactor = 50);

create table circuit_event (
  id         uuid not null default gen_random_uuid(),
  project_id uuid not null,
  target     text not null,
  line_id    uuid not null,
  number     integer not null,
  event      text not null,
  at         timestamptz not null default clock_timestamp(),
  opened_at  timestamptz not null,
  until      timestamptz,
  error      jsonb,
  constraint circuit_event_pkey primary key (id),
  constraint circuit_event_in_order unique (project_id, target, number),
  constraint circuit_event_kind check (event = any (array['opened'::text, 'closed'::text])),
  constraint circuit_event_until check ((event = 'opened'::text) = (until is not null))
);
create index circuit_event_by_time on circuit_event (at, id);

create table clock_step (
  id         uuid not null,
  node_id    uuid not null,
  noticed_at timestamptz not null default clock_timestamp(),
  by_ms      bigint not null,
  constraint clock_step_pkey primary key (id)
);
create index clock_step_by_time on clock_step (noticed_at);

create table compatibility (
  is_only_row      boolean not null default true,
  oldest_migration integer not null,
  constraint compatibility_pkey primary key (is_only_row),
  constraint compatibility_has_one_row check (is_only_row)
);

create table dead_letter_settled (
  run_id     uuid not null,
  ended_at   timestamptz not null,
  how        text not null,
  settled_at timestamptz not null default now(),
  constraint dead_letter_settled_pkey primary key (run_id),
  constraint dead_letter_settled_is_known check (how = any (array['redriven'::text, 'dismissed'::text]))
);
create index dead_letter_settled_by_age on dead_letter_settled (ended_at);

create table expiry (
  run_id     uuid not null,
  attempt    smallint not null,
  expires_at timestamptz not null,
  constraint expiry_pkey primary key (run_id)
) with (fillfactor = 70);
create index expiry_in_order on expiry (expires_at);

create table idempotency (
  project_id  uuid not null,
  key         text not null,
  fingerprint bytea not null,
  status      integer not null,
  answer      jsonb not null,
  created_at  timestamptz not null default now(),
  constraint idempotency_pkey primary key (project_id, key)
);
create index idempotency_by_age on idempotency (created_at);

create table late_end (
  run_id    uuid not null,
  ended_at  timestamptz not null,
  stored_at timestamptz not null default clock_timestamp()
);
create index late_end_by_age on late_end (stored_at);

create table migration (
  number     integer not null,
  name       text not null,
  checksum   text not null,
  applied_at timestamptz not null default now(),
  constraint migration_pkey primary key (number)
);

create table named_run (
  run_id uuid not null,
  fence  integer not null,
  at     timestamptz not null default clock_timestamp(),
  constraint named_run_pkey primary key (run_id)
) with (fillfactor = 50);

create table node (
  id            uuid not null,
  name          text not null,
  version       text not null,
  roles         text[] not null,
  concurrency   integer not null default 0,
  started_at    timestamptz not null default now(),
  beat          bigint not null default 0,
  beat_at       timestamptz not null default now(),
  dead_at       timestamptz,
  buried_at     timestamptz,
  reason        text,
  labels        text[] not null default '{}'::text[],
  naming_since  timestamptz,
  named_at      timestamptz,
  renews_queues boolean not null default false,
  secrets       text,
  secrets_keys  text[],
  constraint node_pkey primary key (id),
  constraint node_secrets_is_known check (secrets = any (array['ready'::text, 'no_key'::text, 'other_key'::text]))
);

create table person (
  id           uuid not null,
  issuer       text not null,
  subject      text not null,
  email        text,
  name         text,
  groups       text[] not null,
  created_at   timestamptz not null default now(),
  signed_in_at timestamptz not null default now(),
  constraint person_pkey primary key (id),
  constraint person_of_issuer unique (issuer, subject)
);

create table progress (
  run_id   uuid not null,
  fence    integer not null,
  fraction real,
  message  text,
  at       timestamptz not null default clock_timestamp(),
  constraint progress_pkey primary key (run_id)
) with (fillfactor = 50);

create table project (
  id                uuid not null,
  name              text not null,
  created_at        timestamptz not null default now(),
  min_period_ms     bigint,
  max_ahead_ms      bigint,
  mail_from         text,
  mail_reply_to     text,
  archived_at       timestamptz,
  sweep             text,
  sweep_after       uuid,
  allowed_private   text[],
  request_rate      text,
  run_rate          text,
  max_running       integer,
  max_tasks         integer,
  max_payload_bytes integer,
  max_stored_bytes  bigint,
  sweep_left_some   boolean not null default false,
  mail_server       text,
  history_days      integer,
  audit_log_days    integer,
  constraint project_pkey primary key (id),
  constraint project_name_key unique (name),
  constraint project_default_stays check (archived_at is null or name <> 'default'::text),
  constraint project_limits_are_positive check (min_period_ms > 0 and max_ahead_ms > 0),
  constraint project_limits_leave_room check (min_period_ms <= max_ahead_ms),
  constraint project_retention_in_bounds check (history_days >= 1 and history_days <= 36500 and audit_log_days >= 1 and audit_log_days <= 36500),
  constraint project_sweep check (sweep = any (array['silence'::text, 'restore'::text])),
  constraint project_uses_something check (max_running > 0 and max_tasks >= 0 and max_payload_bytes > 0 and max_stored_bytes >= 0)
);
create index project_with_own_audit_log on project (audit_log_days) where audit_log_days is not null;
create index project_with_own_history on project (history_days) where history_days is not null;

create table api_key (
  id                uuid not null,
  project_id        uuid,
  name              text not null,
  role              text not null,
  hash              bytea not null,
  hint              text not null,
  queues            text[],
  networks          cidr[],
  created_at        timestamptz not null default now(),
  created_by        text,
  expires_at        timestamptz,
  revoked_at        timestamptz,
  rotated_to        uuid,
  last_used_at      timestamptz,
  request_rate      text,
  min_period_ms     bigint,
  max_ahead_ms      bigint,
  max_payload_bytes integer,
  constraint api_key_pkey primary key (id),
  constraint api_key_hash_key unique (hash),
  constraint api_key_project_id_fkey foreign key (project_id) references project(id),
  constraint api_key_limits_are_positive check (min_period_ms > 0 and max_ahead_ms > 0 and max_payload_bytes > 0),
  constraint api_key_limits_leave_room check (min_period_ms <= max_ahead_ms),
  constraint api_key_role check (role = any (array['viewer'::text, 'operator'::text, 'editor'::text, 'admin'::text, 'worker'::text]))
);
create index api_key_of_project on api_key (project_id, id);

create table audit_finding (
  id          uuid not null,
  project_id  uuid not null,
  task_id     uuid,
  run_id      uuid,
  kind        text not null,
  found_at    timestamptz not null default now(),
  is_repaired boolean not null,
  missed      integer not null default 0,
  detail      text not null,
  constraint audit_finding_pkey primary key (id),
  constraint audit_finding_project_id_fkey foreign key (project_id) references project(id),
  constraint audit_finding_kind_is_known check (kind = any (array['next_row_lost'::text, 'one_off_lost'::text, 'resume_row_lost'::text, 'skip_row_lost'::text, 'ready_row_lost'::text, 'held_by_dead_node'::text, 'history_rows_lost'::text, 'held_by_the_dead'::text]))
);
create index audit_finding_by_time on audit_finding (project_id, found_at);

create table blackout (
  id         uuid not null,
  project_id uuid not null,
  name       text not null,
  effect     text not null,
  rule       json not null,
  created_at timestamptz not null default now(),
  removed_at timestamptz,
  constraint blackout_pkey primary key (id),
  constraint blackout_project_id_fkey foreign key (project_id) references project(id),
  constraint blackout_effect_is_known check (effect = any (array['skip'::text, 'defer'::text]))
);
create index blackout_by_project on blackout (project_id, id) where removed_at is null;

create table file_content (
  id           uuid not null,
  project_id   uuid not null,
  received     bigint not null default 0,
  sha256       text,
  kind         text,
  architecture text,
  interpreter  text,
  created_at   timestamptz not null default now(),
  dropped_at   timestamptz,
  constraint file_content_pkey primary key (id),
  constraint file_content_project_id_fkey foreign key (project_id) references project(id),
  constraint file_content_complete_has_a_kind check ((sha256 is null) = (kind is null) or dropped_at is not null),
  constraint file_content_dropped_has_no_hash check (dropped_at is null or sha256 is null),
  constraint file_content_received_is_positive check (received >= 0)
);
create index file_content_dropped on file_content (dropped_at) where dropped_at is not null;
create index file_content_of_project on file_content (project_id) where dropped_at is null;
create unique index file_content_once on file_content (project_id, sha256) where sha256 is not null;

create table file (
  id                uuid not null,
  project_id        uuid not null,
  name              text not null,
  size              bigint,
  sha256            text,
  content_id        uuid,
  created_at        timestamptz not null default now(),
  upload_expires_at timestamptz,
  ready_at          timestamptz,
  used_at           timestamptz not null default now(),
  constraint file_pkey primary key (id),
  constraint file_content_id_fkey foreign key (content_id) references file_content(id),
  constraint file_project_id_fkey foreign key (project_id) references project(id),
  constraint file_ready_has_content check (ready_at is null or num_nulls(content_id, size, sha256) = 0)
);
create index file_by_content on file (content_id);
create index file_by_hash on file (project_id, sha256, id) where sha256 is not null;
create index file_by_name on file (project_id, name, id);
create index file_of_project on file (project_id, id);
create index file_ready_by_use on file (used_at) where ready_at is not null;
create index file_waiting on file (project_id, id) where ready_at is null;
create index file_waiting_by_use on file (used_at) where ready_at is null;

create table file_chunk (
  content_id uuid not null,
  position   bigint not null,
  bytes      bytea not null,
  constraint file_chunk_pkey primary key (content_id, "position"),
  constraint file_chunk_content_id_fkey foreign key (content_id) references file_content(id),
  constraint file_chunk_is_bounded check (octet_length(bytes) >= 1 and octet_length(bytes) <= 262144)
);

create table member (
  id         uuid not null,
  project_id uuid,
  kind       text not null,
  who        text not null,
  role       text not null,
  created_at timestamptz not null default now(),
  created_by text,
  constraint member_pkey primary key (id),
  constraint member_who unique nulls not distinct (project_id, kind, who),
  constraint member_project_id_fkey foreign key (project_id) references project(id),
  constraint member_kind check (kind = any (array['email'::text, 'group'::text])),
  constraint member_role check (role = any (array['viewer'::text, 'operator'::text, 'editor'::text, 'admin'::text]))
);
create index member_by_who on member (kind, who);

create table project_gate (
  project_id  uuid not null,
  places      integer,
  held        integer not null default 0,
  rate        text,
  burst       integer,
  rate_gap    bigint,
  rate_window bigint,
  next_at     timestamptz,
  taken_at    timestamptz,
  constraint project_gate_pkey primary key (project_id),
  constraint project_gate_project_id_fkey foreign key (project_id) references project(id),
  constraint project_gate_has_places check (places > 0),
  constraint project_gate_holds_no_less_than_none check (held >= 0),
  constraint project_gate_rate_is_complete check ((num_nonnulls(rate, rate_gap, rate_window) = any (array[0, 3])) and rate_gap > 0 and (rate_window % rate_gap) = 0 and rate_window > 0)
) with (fillfactor = 50);

create table project_use (
  project_id uuid not null,
  tasks      bigint not null default 0,
  bytes      bigint not null default 0,
  counted_at timestamptz,
  since      timestamptz not null default now(),
  constraint project_use_pkey primary key (project_id),
  constraint project_use_project_id_fkey foreign key (project_id) references project(id)
);

create table queue (
  project_id uuid not null,
  name       text not null,
  paused_at  timestamptz,
  created_at timestamptz not null default now(),
  used_at    timestamptz not null default now(),
  constraint queue_pkey primary key (project_id, name),
  constraint queue_project_id_fkey foreign key (project_id) references project(id)
);
create index queue_by_use on queue (used_at);

create table gate (
  id          bigint not null default nextval('queue_gate'::regclass),
  project_id  uuid not null,
  queue       text not null,
  labels      text[] not null default '{}'::text[],
  key         text,
  places      integer,
  held        integer not null default 0,
  handler     text,
  rate        text,
  burst       integer,
  rate_gap    bigint,
  rate_window bigint,
  next_at     timestamptz,
  taken_at    timestamptz,
  constraint gate_pkey primary key (id),
  constraint gate_project_id_queue_fkey foreign key (project_id, queue) references queue(project_id, name),
  constraint gate_burst_needs_a_rate check (burst is null or burst > 0 and rate is not null),
  constraint gate_has_places check (places > 0),
  constraint gate_holds_no_less_than_none check (held >= 0),
  constraint gate_of_a_key_has_a_limit check (key is null or places is not null),
  constraint gate_of_a_queue_comes_first check ((key is null) = (id < 0)),
  constraint gate_rate_is_complete check ((num_nonnulls(rate, rate_gap, rate_window) = any (array[0, 3])) and rate_gap > 0 and (rate_window % rate_gap) = 0 and rate_window > 0)
) with (fillfactor = 50);
create index gate_by_queue on gate (project_id, queue);
create unique index gate_of_queue on gate (project_id, queue) where key is null;

create table lane (
  id         bigint not null,
  project_id uuid not null,
  queue      text not null,
  labels     text[] not null default '{}'::text[],
  strict     boolean not null,
  catchup    boolean not null default false,
  handler    text,
  base       bigint,
  line       text,
  used_at    timestamptz,
  constraint lane_pkey primary key (id),
  constraint lane_project_id_queue_fkey foreign key (project_id, queue) references queue(project_id, name)
);
create index lane_of_line on lane (project_id, line) where line is not null;
create index lane_of_queue on lane (project_id, queue);

create table ready (
  lane     bigint not null,
  priority smallint not null,
  wake_at  timestamptz not null,
  run_id   uuid not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
create index ready_in_order on ready (lane, priority, wake_at, run_id);

create table redrive (
  id            uuid not null,
  project_id    uuid not null,
  filter        jsonb not null,
  rate          double precision not null,
  state         text not null default 'running'::text,
  created_at    timestamptz not null default now(),
  ended_at      timestamptz,
  redriven      integer not null default 0,
  refused       integer not null default 0,
  waiting       integer not null default 0,
  last_error    text,
  fence         bigint not null default 0,
  leased_until  timestamptz not null default '-infinity'::timestamptz,
  pass_position jsonb,
  constraint redrive_pkey primary key (id),
  constraint redrive_project_id_fkey foreign key (project_id) references project(id),
  constraint redrive_rate_is_positive check (rate > 0::double precision),
  constraint redrive_state_is_known check (state = any (array['running'::text, 'completed'::text, 'cancelled'::text, 'expired'::text]))
);
create index redrive_by_age on redrive (project_id, id);

create table refused_row (
  id         uuid not null,
  operation  text not null,
  subject    text not null,
  project_id uuid,
  task_id    uuid,
  run_id     uuid,
  error      text not null,
  tries      integer not null default 1,
  first_at   timestamptz not null default now(),
  last_at    timestamptz not null default now(),
  settled_at timestamptz,
  constraint refused_row_pkey primary key (id),
  constraint refused_row_is_single unique (operation, subject)
) with (fillfactor = 70);
create index refused_row_by_age on refused_row (last_at);
create index refused_row_unsettled on refused_row (last_at) where settled_at is null;

create table remote_worker (
  id         uuid not null,
  project_id uuid not null,
  handlers   text[] not null,
  labels     text[] not null,
  queues     text[],
  token_hash bytea not null,
  claim_id   uuid,
  claim_runs uuid[] not null default '{}'::uuid[],
  key_id     uuid,
  constraint remote_worker_pkey primary key (id),
  constraint remote_worker_id_fkey foreign key (id) references node(id) on delete cascade,
  constraint remote_worker_project_id_fkey foreign key (project_id) references project(id)
) with (fillfactor = 50);

create table request_quota (
  id      uuid not null,
  next_at timestamptz not null,
  constraint request_quota_pkey primary key (id)
) with (fillfactor = 50);

create table retention (
  project_id           uuid not null,
  history_from         timestamptz not null default '-infinity'::timestamptz,
  audit_log_from       timestamptz not null default '-infinity'::timestamptz,
  audit_log_deleted_to uuid not null default '00000000-0000-0000-0000-000000000000'::uuid,
  constraint retention_pkey primary key (project_id)
) with (fillfactor = 50);

create table retention_sweep (
  is_only boolean not null default true,
  day     date,
  parent  text,
  page    bigint not null default 0,
  constraint retention_sweep_pkey primary key (is_only),
  constraint retention_sweep_is_one_row check (is_only),
  constraint retention_sweep_is_somewhere check ((day is null) = (parent is null))
) with (fillfactor = 50);

create table run (
  run_id        uuid not null,
  task_id       uuid not null,
  project_id    uuid not null,
  worker_id     uuid,
  scheduled_for timestamptz not null,
  started_at    timestamptz,
  ended_at      timestamptz not null,
  covers_until  timestamptz,
  covers_count  integer,
  version       integer not null,
  ordinal       integer not null,
  fence         integer not null default 0,
  late_ms       bigint,
  attempt       smallint not null default 0,
  losses        smallint not null default 0,
  kind          agenda_kind not null,
  state         run_state not null,
  reason        text,
  outcome       text,
  output        jsonb,
  error         jsonb,
  ordinal_base  bigint,
  constraint run_skip_has_a_reason check (state <> 'skipped'::run_state or reason is not null)
) partition by range (ended_at);
create index run_by_end on run using brin (ended_at) with (autosummarize='on');
create index run_by_id on run (run_id);
create index run_by_state on run (project_id, state, ended_at desc, run_id desc) where state <> 'completed'::run_state;
create index run_by_task on run (task_id, scheduled_for desc, run_id desc);
create index run_by_task_and_state on run (task_id, state, scheduled_for desc, run_id desc) where state <> 'completed'::run_state;
create index run_of_project on run (project_id, ended_at) where project_id <> '00000000-0000-7000-8000-000000000001'::uuid;

create table run_log (
  run_id        uuid not null,
  fence         integer not null,
  seq           integer not null,
  claimed_at    timestamptz not null,
  attempt       smallint not null,
  stream        text not null,
  level         text,
  at            timestamptz not null,
  text          text not null,
  bytes         integer not null,
  next_line     integer,
  omitted_lines bigint,
  omitted_bytes bigint,
  constraint run_log_is_single primary key (run_id, fence, seq, claimed_at)
) partition by range (claimed_at);

create table run_override (
  run_id   uuid not null,
  override json not null,
  constraint run_override_pkey primary key (run_id)
);

create table run_retry (
  run_id   uuid not null,
  retry_of uuid not null,
  constraint run_retry_pkey primary key (run_id)
);
create index run_retry_by_origin on run_retry (retry_of, run_id);

create table secret (
  project_id uuid not null,
  name       text not null,
  version    integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint secret_pkey primary key (project_id, name),
  constraint secret_project_id_fkey foreign key (project_id) references project(id),
  constraint secret_version_is_positive check (version > 0)
);

create table secrets_key (
  fingerprint text not null,
  created_at  timestamptz not null default now(),
  constraint secrets_key_pkey primary key (fingerprint)
);

create table endpoint_signing_secret (
  id         uuid not null,
  project_id uuid not null,
  origin     text not null,
  secret     bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  key_id     text,
  constraint endpoint_signing_secret_pkey primary key (id),
  constraint endpoint_signing_secret_key_id_fkey foreign key (key_id) references secrets_key(fingerprint),
  constraint endpoint_signing_secret_project_id_fkey foreign key (project_id) references project(id)
);
create index endpoint_signing_secret_by_origin on endpoint_signing_secret (project_id, origin);

create table secret_version (
  project_id  uuid not null,
  name        text not null,
  version     integer not null,
  value       bytea not null,
  key_id      text not null,
  created_at  timestamptz not null default now(),
  replaced_at timestamptz,
  constraint secret_version_pkey primary key (project_id, name, version),
  constraint secret_version_key_id_fkey foreign key (key_id) references secrets_key(fingerprint),
  constraint secret_version_project_id_fkey foreign key (project_id) references project(id)
);
create index secret_version_replaced on secret_version (replaced_at) where replaced_at is not null;

create table session (
  id         uuid not null,
  token_hash bytea not null,
  person_id  uuid,
  key_hash   bytea,
  created_at timestamptz not null default now(),
  seen_at    timestamptz not null default now(),
  constraint session_pkey primary key (id),
  constraint session_token_hash_key unique (token_hash),
  constraint session_person_id_fkey foreign key (person_id) references person(id) on delete cascade,
  constraint session_of_somebody check ((person_id is null) <> (key_hash is null))
);
create index session_by_seen_at on session (seen_at);
create index session_of_key on session (key_hash) where key_hash is not null;
create index session_of_person on session (person_id) where person_id is not null;

create table shard (
  id            smallint not null,
  owner         uuid,
  fence         bigint not null default 0,
  watched_until timestamptz not null default now(),
  constraint shard_pkey primary key (id)
) with (fillfactor = 50);

create table signing_secret (
  id         uuid not null,
  project_id uuid not null,
  secret     bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  key_id     text,
  constraint signing_secret_pkey primary key (id),
  constraint signing_secret_key_id_fkey foreign key (key_id) references secrets_key(fingerprint),
  constraint signing_secret_project_id_fkey foreign key (project_id) references project(id)
);
create index signing_secret_by_project on signing_secret (project_id, id);

create table subscription (
  id               uuid not null,
  project_id       uuid not null,
  name             text,
  url              text not null,
  filter           jsonb not null default '{}'::jsonb,
  batch_size       integer not null default 1,
  give_up_after_ms bigint not null,
  secret           text not null,
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now(),
  position         text not null,
  holder           uuid,
  fence            bigint not null default 0,
  leased_until     timestamptz not null default '-infinity'::timestamptz,
  delivered        bigint not null default 0,
  last_event_id    text,
  last_event_at    timestamptz,
  failing_since    timestamptz,
  failures         integer not null default 0,
  retry_at         timestamptz not null default '-infinity'::timestamptz,
  last_error       jsonb,
  disabled_at      timestamptz,
  held             jsonb not null default '[]'::jsonb,
  key_id           text,
  gap              jsonb,
  constraint subscription_pkey primary key (id),
  constraint subscription_key_id_fkey foreign key (key_id) references secrets_key(fingerprint),
  constraint subscription_project_id_fkey foreign key (project_id) references project(id),
  constraint subscription_batch_is_positive check (batch_size > 0),
  constraint subscription_disabled_has_a_reason check (disabled_at is null or last_error is not null)
) with (fillfactor = 50);
create index subscription_by_age on subscription (project_id, id);

create table tally (
  project_id         uuid not null,
  minute             timestamptz not null,
  completed          integer not null,
  permanently_failed integer not null,
  cancelled          integer not null,
  skipped            integer not null,
  missed             integer not null,
  late               jsonb not null,
  constraint tally_pkey primary key (project_id, minute)
);

create table tally_progress (
  is_only       boolean not null default true,
  counted_until timestamptz not null,
  constraint tally_progress_pkey primary key (is_only),
  constraint tally_progress_is_one_row check (is_only)
);

create table target_circuit (
  project_id uuid not null,
  target     text not null,
  node_id    uuid not null,
  state      text not null,
  opened_at  timestamptz not null,
  until      timestamptz,
  error      jsonb,
  changed_at timestamptz not null default clock_timestamp(),
  constraint target_circuit_pkey primary key (project_id, target, node_id),
  constraint target_circuit_state check (state = any (array['open'::text, 'closed'::text])),
  constraint target_circuit_until check ((state = 'open'::text) = (until is not null))
);
create index target_circuit_by_change on target_circuit (changed_at);
create index target_circuit_open on target_circuit (until) where state = 'open'::text;

create table target_report (
  project_id uuid not null,
  target     text not null,
  node_id    uuid not null,
  is_idle    boolean not null,
  state      jsonb not null,
  at         timestamptz not null default clock_timestamp(),
  constraint target_report_pkey primary key (project_id, target, node_id)
) with (fillfactor = 50);
create index target_report_of_node on target_report (node_id);

create table target_setting (
  project_id   uuid not null,
  pattern      text not null,
  call_limit   integer,
  rate         text,
  burst        integer,
  paused_at    timestamptz,
  pause_reason text,
  updated_at   timestamptz not null default now(),
  constraint target_setting_pkey primary key (project_id, pattern),
  constraint target_setting_project_id_fkey foreign key (project_id) references project(id),
  constraint target_setting_burst check (burst is null or burst > 0 and rate is not null),
  constraint target_setting_limit check (call_limit > 0),
  constraint target_setting_reason check (pause_reason is null or paused_at is not null)
);

create table task (
  id            uuid not null,
  project_id    uuid not null,
  key           text,
  name          text,
  owner         text,
  action_type   text not null,
  tags          text[] not null default '{}'::text[],
  version       integer not null default 1,
  next_ordinal  integer not null default 1,
  definition    json not null,
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),
  paused_at     timestamptz,
  cancelled_at  timestamptz,
  deleted_at    timestamptz,
  pause_reason  text,
  resume_at     timestamptz,
  skip_until    timestamptz,
  skip_reason   text,
  settled_as_of timestamptz,
  brief         json,
  archived_at   timestamptz,
  awaits_files  boolean not null default false,
  constraint task_pkey primary key (id),
  constraint task_deleted_is_cancelled check (deleted_at is null or cancelled_at is not null),
  constraint task_resumes_only_from_a_pause check (resume_at is null or paused_at is not null),
  constraint task_version_is_positive check (version > 0)
);
create index task_by_age on task (project_id, id) where deleted_at is null;
create index task_by_change on task (project_id, updated_at) where updated_at > created_at;
create unique index task_by_key on task (project_id, key) where key is not null and deleted_at is null;
create index task_by_tag on task using gin (tags);
create index task_cancelled_by_age on task (project_id, id) where cancelled_at is not null and deleted_at is null;
create index task_of_owner on task (project_id, owner, id) where owner is not null and deleted_at is null;
create index task_paused_by_age on task (project_id, id) where paused_at is not null and cancelled_at is null;
create index task_that_awaits_files on task (id) where awaits_files and paused_at is not null and cancelled_at is null;
create index task_that_goes_on on task (id) where cancelled_at is null and paused_at is null and settled_as_of is distinct from updated_at and (coalesce((definition -> 'schedule'::text) ->> 'type'::text, ''::text) <> all (array['once'::text, 'manual'::text]));
create index task_that_is_manual on task (project_id, id) where cancelled_at is null and ((definition -> 'schedule'::text) ->> 'type'::text) = 'manual'::text;
create index task_that_is_paused on task (project_id, paused_at) where paused_at is not null and cancelled_at is null;
create index task_with_a_duty on task (id) where cancelled_at is null and (resume_at is not null or skip_until is not null);
create index task_with_plain_address on task (id) where action_type = 'slack'::text and (definition #>> '{action,url}'::text[]) ~ '^[^/]*//[^/?#]*[/?](.*[/?&=])?[A-Za-z0-9._~-]{16,}([/?&#]|$)'::text;

create table backfill (
  id                uuid not null,
  project_id        uuid not null,
  task_id           uuid not null,
  number            integer not null,
  version           integer not null,
  from_at           timestamptz not null,
  to_at             timestamptz not null,
  newest_first      boolean not null,
  one_by_one        boolean not null,
  force             boolean not null,
  rate              text,
  max_runs          integer,
  state             text not null default 'running'::text,
  occurrences       integer not null,
  position          timestamptz,
  started           integer not null default 0,
  passed_over       integer not null default 0,
  is_written        boolean not null default false,
  next_at           timestamptz not null,
  look_at           timestamptz not null,
  created_at        timestamptz not null default now(),
  ended_at          timestamptz,
  made_by           text,
  reason            text,
  completed         integer,
  failed            integer,
  cancelled         integer,
  deleted_failed    integer not null default 0,
  deleted_cancelled integer not null default 0,
  constraint backfill_pkey primary key (id),
  constraint backfill_of_task_is_numbered unique (task_id, number),
  constraint backfill_project_id_fkey foreign key (project_id) references project(id),
  constraint backfill_task_id_fkey foreign key (task_id) references task(id),
  constraint backfill_ends_once check ((state = 'running'::text) = (ended_at is null)),
  constraint backfill_state_is_known check (state = any (array['running'::text, 'completed'::text, 'cancelled'::text]))
);
create index backfill_by_end on backfill (ended_at) where ended_at is not null;
create unique index backfill_one_at_a_time on backfill (task_id) where state = 'running'::text;
create index backfill_to_look_at on backfill (look_at) where state = 'running'::text;

create table file_use (
  file_id       uuid not null,
  task_id       uuid not null,
  project_id    uuid not null,
  until_version integer,
  constraint file_use_pkey primary key (file_id, task_id),
  constraint file_use_file_id_fkey foreign key (file_id) references file(id),
  constraint file_use_task_id_fkey foreign key (task_id) references task(id)
);
create index file_use_by_task on file_use (task_id);

create table secret_use (
  project_id uuid not null,
  name       text not null,
  task_id    uuid not null,
  constraint secret_use_pkey primary key (project_id, name, task_id),
  constraint secret_use_task_id_fkey foreign key (task_id) references task(id)
);
create index secret_use_by_task on secret_use (task_id);

create table task_edit (
  task_id     uuid not null,
  version     integer not null,
  made_at     timestamptz not null,
  made_by     text,
  reason      text,
  rollback_of integer,
  constraint task_edit_pkey primary key (task_id, version),
  constraint task_edit_task_id_fkey foreign key (task_id) references task(id) on delete cascade
);

create table task_number (
  project_id uuid not null,
  last       integer not null,
  constraint task_number_pkey primary key (project_id),
  constraint task_number_project_id_fkey foreign key (project_id) references project(id)
);

create table task_pause (
  task_id       uuid not null,
  paused_at     timestamptz not null,
  reason        text,
  until_at      timestamptz,
  resumed_at    timestamptz,
  resume_reason text,
  constraint task_pause_pkey primary key (task_id, paused_at),
  constraint task_pause_task_id_fkey foreign key (task_id) references task(id) on delete cascade
);

create table task_version (
  task_id     uuid not null,
  version     integer not null,
  definition  json not null,
  replaced_at timestamptz not null default now(),
  due_until   timestamptz,
  key         text,
  name        text,
  owner       text,
  tags        text[] not null default '{}'::text[],
  brief       json,
  constraint task_version_pkey primary key (task_id, version),
  constraint task_version_task_id_fkey foreign key (task_id) references task(id) on delete cascade
);
create index task_version_with_plain_address on task_version (task_id, version) where (definition #>> '{action,type}'::text[]) = 'slack'::text and (definition #>> '{action,url}'::text[]) ~ '^[^/]*//[^/?#]*[/?](.*[/?&=])?[A-Za-z0-9._~-]{16,}([/?&#]|$)'::text;

create table unwatched (
  shard    smallint not null,
  from_at  timestamptz not null,
  until_at timestamptz not null,
  constraint unwatched_pkey primary key (shard, until_at),
  constraint unwatched_is_a_stretch check (from_at < until_at)
);

create table watch (
  node_id       uuid not null,
  beat          bigint not null,
  watched_until timestamptz not null,
  constraint watch_pkey primary key (node_id),
  constraint watch_node_id_fkey foreign key (node_id) references node(id) on delete cascade
) with (fillfactor = 50);

create table write_check (
  filler text not null
);

create function base_of_count(count bigint) returns bigint language sql immutable as $$
  select nullif((count - 1) / 2000000000 * 2000000000, 0)
$$;

create function begin_retention_sweep(days_kept integer) returns date language plpgsql as $$
declare
  today  date := (now() at time zone 'UTC')::date;
  oldest date := greatest(
    today - longest_history(days_kept),
    (select min(to_date(right(c.relname, 8), 'YYYYMMDD'))
     from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent in ('run'::regclass, 'attempt'::regclass, 'run_log'::regclass)));
  found  date;
begin
  with due as (
    select p.id, b.begins from project p
    left join retention r on r.project_id = p.id
    -- Nothing ended in a project before it was made.
    cross join lateral (
      select greatest(oldest, (r.history_from at time zone 'UTC')::date, (p.created_at at time zone 'UTC')::date - 1) as begins
    ) b
    where b.begins < today - coalesce(p.history_days, days_kept)
  ), first as (
    select min(begins) as day from due
  ), marked as (
    insert into retention (project_id, history_from)
    select id, (day + 1)::timestamp at time zone 'UTC' from due join first on begins = day
    on conflict (project_id) do update set history_from = excluded.history_from
      where retention.history_from < excluded.history_from
  )
  select day into found from first;
  return found;
end $$;

create function common_message(error jsonb) returns text language sql immutable as $$
  select regexp_replace(regexp_replace(left(coalesce(error ->> 'message', ''), 300),
           '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|0x[0-9a-fA-F]+|\m[0-9a-fA-F]{16,}\M', '…', 'g'),
           '\d+', '…', 'g')
$$;

create function count_of(base bigint, part integer) returns bigint language sql immutable as $$
  select coalesce(base, 0) + part
$$;

create function definition_bytes(definition json, brief json, version integer) returns integer language sql stable as $$
  select case when (brief ->> 'version')::integer = version then (brief ->> 'bytes')::integer
              when pg_column_compression(definition) is null then pg_column_size(definition)
              else octet_length(definition::text) end
$$;

create function definition_in_brief(definition json, brief json, version integer) returns json language sql immutable as $$
  select case when (brief ->> 'version')::integer = version then brief else definition end
$$;

create function delete_old_audit_entries(days_kept integer, max_entries integer, OUT deleted integer, OUT has_more boolean) returns record language plpgsql as $$
declare
  today   date := (now() at time zone 'UTC')::date;
  longest integer := longest_audit_log(days_kept);
  old     record;
  upto    uuid;
begin
  deleted := 0;
  has_more := false;
  if not exists (select from project where audit_log_days is not null) then
    return;
  end if;
  perform from retention_sweep for update skip locked;
  if not found then
    return;
  end if;
  select scope.id, kept.first_at, coalesce(r.audit_log_deleted_to, '00000000-0000-0000-0000-000000000000') as deleted_to into old
  from (
    select id, coalesce(audit_log_days, days_kept) as days from project
    union all
    select '00000000-0000-0000-0000-000000000000', days_kept
  ) scope
  left join retention r on r.project_id = scope.id
  cross join lateral (select (today - scope.days)::timestamp at time zone 'UTC' as first_at) kept
  where scope.days < longest and (r.audit_log_deleted_to is null or r.audit_log_deleted_to < least_uuid_at(kept.first_at))
  limit 1;
  if not found then
    return;
  end if;
  has_more := true;
  insert into retention (project_id, audit_log_from) values (old.id, old.first_at)
  on conflict (project_id) do update set audit_log_from = greatest(retention.audit_log_from, excluded.audit_log_from);
  select id into upto from audit_entry
  where project_id = old.id and id >= old.deleted_to and id < least_uuid_at(old.first_at)
  order by id offset max_entries limit 1;
  upto := coalesce(upto, least_uuid_at(old.first_at));
  delete from audit_entry where project_id = old.id and id >= old.deleted_to and id < upto and at < old.first_at;
  get diagnostics deleted = row_count;
  update retention set audit_log_deleted_to = upto where project_id = old.id;
end $$;

create function delete_old_history(days_kept integer, max_pages integer, OUT deleted integer, OUT has_more boolean) returns record language plpgsql as $$
declare
  sweep     retention_sweep;
  gone_from timestamptz;
  partition text;
  pages     bigint;
begin
  deleted := 0;
  has_more := false;
  if not exists (select from project where history_days is not null) and not exists (select from retention_sweep where day is not null) then
    return;
  end if;
  select * into sweep from retention_sweep for update skip locked;
  if not found then
    return;
  end if;
  if sweep.day is null then
    if not exists (
      select from audit_progress
      where round_ended_at - make_interval(secs => round_ms / 1000.0) >= ((now() at time zone 'UTC')::date - 1)::timestamp at time zone 'UTC'
    ) then
      return;
    end if;
    sweep.day := begin_retention_sweep(days_kept);
    if sweep.day is null then
      return;
    end if;
    sweep.parent := 'run_log';
  end if;
  has_more := true;
  gone_from := sweep.day::timestamp at time zone 'UTC';
  partition := format('%s_%s', sweep.parent, to_char(sweep.day, 'YYYYMMDD'));
  -- Nobody drops the partition meanwhile.
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  pages := pg_relation_size(to_regclass(partition)) / current_setting('block_size')::integer;
  if pages > sweep.page then
    execute format(
      case sweep.parent
        when 'run' then
          'with gone as (
             delete from only %1$I r
             where r.ctid >= %2$L::tid and r.ctid < %3$L::tid
               and r.project_id in (select project_id from retention where history_from > %4$L)
             returning r.*
           ), backfilled as (
             update backfill b set deleted_failed = b.deleted_failed + g.failed, deleted_cancelled = b.deleted_cancelled + g.cancelled
             from (
               select task_id, ordinal, count(*) filter (where state = ''permanently_failed'') as failed,
                      count(*) filter (where state <> ''permanently_failed'') as cancelled
               from gone where kind = ''backfill'' and state <> ''completed'' group by task_id, ordinal
             ) g
             where b.task_id = g.task_id and b.number = g.ordinal and b.completed is null
           ), overrides as (
             delete from run_override o using gone where o.run_id = gone.run_id
           ), retries as (
             delete from run_retry t using gone where t.run_id = gone.run_id
           ), settled as (
             delete from dead_letter_settled s using gone where s.run_id = gone.run_id
           )
           select count(*) from gone'
        when 'attempt' then
          'with gone as (
             delete from only %1$I a
             where a.ctid >= %2$L::tid and a.ctid < %3$L::tid
               and (select t.project_id from task t where t.id = a.task_id)
                   in (select project_id from retention where history_from > %4$L)
               and not exists (select from agenda g where g.run_id = a.run_id)
             returning 1
           )
           select count(*) from gone'
        else
          'with gone as (
             delete from only %1$I l
             where l.ctid >= %2$L::tid and l.ctid < %3$L::tid
               and coalesce(
                 (select r.project_id from run r where r.run_id = l.run_id and r.ended_at >= %4$L and r.ended_at < %5$L limit 1),
                 case when not exists (select from agenda g where g.run_id = l.run_id)
                      then (select r.project_id from run r where r.run_id = l.run_id and r.ended_at >= %5$L limit 1) end)
                   in (select project_id from retention where history_from > %4$L)
             returning 1
           )
           select count(*) from gone'
      end,
      partition, format('(%s,0)', sweep.page), format('(%s,0)', sweep.page + max_pages),
      gone_from, gone_from + interval '2 days') into deleted;
  end if;
  sweep.page := sweep.page + max_pages;
  if sweep.page >= coalesce(pages, 0) then
    sweep.page := 0;
    sweep.parent := case sweep.parent when 'run_log' then 'attempt' when 'attempt' then 'run' end;
  end if;
  update retention_sweep set day = case when sweep.parent is not null then sweep.day end, parent = sweep.parent, page = sweep.page;
end $$;

create function drop_audit_partitions(days_kept integer) returns integer language plpgsql as $$
declare
  first_kept timestamptz := now() - make_interval(days => longest_audit_log(days_kept));
  name       text;
  dropped    integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  perform set_config('lock_timeout', '300ms', true);
  for name in
    select c.relname from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'audit_entry'::regclass and c.relname <> 'audit_entry_other'
      and right(c.relname, 6) < to_char(first_kept at time zone 'UTC', 'YYYYMM')
    order by right(c.relname, 6) limit 1
  loop
    execute format('drop table %I', name);
    dropped := dropped + 1;
  end loop;
  if (select max(at) from audit_entry_other) < first_kept then
    truncate audit_entry_other;
    dropped := dropped + 1;
  end if;
  return dropped;
end $$;

create function drop_partitions(days_kept integer) returns integer language plpgsql as $$
declare
  first_kept date := (now() at time zone 'UTC')::date - longest_history(days_kept);
  names      text[];
  day        date;
  name       text;
begin
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  perform set_config('lock_timeout', '300ms', true);
  -- The digits are compared as text: a plan may apply this condition to every table, and most names end in no date.
  select to_date(o.digits, 'YYYYMMDD'), o.names into day, names
  from (
    select right(c.relname, 8) as digits, array_agg(c.relname::text order by c.relname) as names
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent in ('run'::regclass, 'attempt'::regclass, 'run_log'::regclass)
    group by 1
  ) o
  where o.digits < to_char(first_kept, 'YYYYMMDD') order by o.digits limit 1;
  if day is null then
    return 0;
  end if;
  name := 'run_' || to_char(day, 'YYYYMMDD');
  if name = any(names) then
    -- A day that was never analysed must not be read as a whole.
    perform set_config('enable_seqscan', 'off', true);
    execute format(
      'update backfill b set deleted_failed = b.deleted_failed + g.failed, deleted_cancelled = b.deleted_cancelled + g.cancelled
       from (
         select o.id, counted.*
         from backfill o cross join lateral (
           select count(*) filter (where r.state = ''permanently_failed'') as failed,
                  count(*) filter (where r.state <> ''permanently_failed'') as cancelled
           from %1$I r
           where r.task_id = o.task_id and r.state in (''permanently_failed'', ''cancelled'', ''skipped'') and r.state <> ''completed''
             and r.kind = ''backfill'' and r.ordinal = o.number and r.scheduled_for >= o.from_at and r.scheduled_for < o.to_at
         ) counted
         where o.completed is null and o.created_at < %2$L
       ) g
       where b.id = g.id and b.completed is null and g.failed + g.cancelled > 0', name, (day + 1)::timestamp at time zone 'UTC');
  end if;
  insert into retention (project_id, history_from)
  values ('00000000-0000-0000-0000-000000000000', (day + 1)::timestamp at time zone 'UTC')
  on conflict (project_id) do update set history_from = excluded.history_from where retention.history_from < excluded.history_from;
  foreach name in array names loop
    execute format('drop table %I', name);
  end loop;
  return cardinality(names);
end $$;

create function ensure_audit_partitions(months_ahead integer) returns integer language plpgsql as $$
declare
  this_month date := date_trunc('month', now() at time zone 'UTC')::date;
  month      date;
  next_month date;
  name       text;
  made       integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  for month in select generate_series(this_month, this_month + make_interval(months => months_ahead), '1 month')::date loop
    name := 'audit_entry_' || to_char(month, 'YYYYMM');
    next_month := (month + interval '1 month')::date;
    continue when to_regclass(name) is not null
      or exists (select from audit_entry_other where at >= month::timestamp at time zone 'UTC' and at < next_month::timestamp at time zone 'UTC');
    execute format('create table %I (like audit_entry including defaults including constraints)', name);
    execute format('alter table audit_entry attach partition %I for values from (%L) to (%L)',
      name, month::text || ' 00:00:00+00', next_month::text || ' 00:00:00+00');
    made := made + 1;
  end loop;
  return made;
end $$;

create function ensure_partitions(days_ahead integer) returns integer language plpgsql as $$
declare
  today  date := (now() at time zone 'UTC')::date;
  parent text;
  day    date;
  name   text;
  made   integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  foreach parent in array array['run', 'attempt', 'run_log'] loop
    for day in select generate_series(today - 1, today + days_ahead, '1 day')::date loop
      name := parent || '_' || to_char(day, 'YYYYMMDD');
      if to_regclass(name) is null then
        execute format('create table %I (like %I including defaults including constraints)', name, parent);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)',
          parent, name, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
        made := made + 1;
      end if;
    end loop;
  end loop;
  return made;
end $$;

create function ensure_partitions_of(instant timestamp with time zone) returns integer language plpgsql as $$
declare
  day    date := (instant at time zone 'UTC')::date;
  parent text;
  name   text;
  made   integer := 0;
begin
  if instant < now() - interval '10 years' or instant > now() + interval '8 days' then
    return 0;
  end if;
  perform pg_advisory_xact_lock(hashtext('belfry.partitions'));
  foreach parent in array array['run', 'attempt', 'run_log'] loop
    name := parent || '_' || to_char(day, 'YYYYMMDD');
    continue when exists (select from pg_inherits where inhrelid = to_regclass(name));
    if to_regclass(name) is null then
      execute format('create table %I (like %I including defaults including constraints)', name, parent);
    end if;
    execute format('alter table %I attach partition %I for values from (%L) to (%L)',
      parent, name, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
    made := made + 1;
  end loop;
  return made;
end $$;

create function error_fingerprint(error jsonb) returns text language sql immutable as $$
  select left(md5(concat_ws('|', coalesce(error ->> 'code', ''), coalesce(error -> 'detail' ->> 'status', ''), common_message(error))), 16)
$$;

create function history_begin(of_project uuid) returns timestamp with time zone language sql stable as $$
  select greatest(
    (select min(to_date(right(c.relname, 8), 'YYYYMMDD'))::timestamp at time zone 'UTC'
     from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'run'::regclass),
    (select max(history_from) from retention where project_id in (of_project, '00000000-0000-0000-0000-000000000000')))
$$;

create function least_uuid_at(at timestamp with time zone) returns uuid language sql immutable as $$
  select (overlay(lpad(to_hex(greatest(0, floor(extract(epoch from at) * 1000))::bigint), 12, '0') placing '-' from 9 for 0) || '-0000-0000-000000000000')::uuid
$$;

create function longest_audit_log(days_kept integer) returns integer language sql stable as $$
  select greatest(days_kept, (select max(audit_log_days) from project))
$$;

create function longest_history(days_kept integer) returns integer language sql stable as $$
  select greatest(days_kept, (select max(history_days) from project))
$$;

create function part_of_count(count bigint) returns integer language sql immutable as $$
  select ((count - 1) % 2000000000 + 1)::integer
$$;

create function refuse_change_of_audit_entry() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and old.at < (select audit_log_from from retention where project_id = old.project_id) then
    return old;
  end if;
  raise exception 'entries of the audit log cannot be changed or deleted';
end $$;

create function summarise_history() returns integer language plpgsql as $$
declare
  oldest text := to_char((now() at time zone 'UTC')::date - 2, 'YYYYMMDD');
  index  regclass;
  ranges integer := 0;
begin
  perform set_config('lock_timeout', '100ms', true);
  for index in
    select i.inhrelid from pg_inherits i
    join pg_index x on x.indexrelid = i.inhrelid
    join pg_class c on c.oid = x.indrelid
    where i.inhparent in ('run_by_end'::regclass, 'attempt_by_end'::regclass, 'audit_entry_by_time'::regclass) and right(c.relname, 8) >= oldest
  loop
    begin
      ranges := ranges + brin_summarize_new_values(index);
    exception when lock_not_available then
    end;
  end loop;
  return ranges;
end $$;

create function try_held_again(held jsonb) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(task || jsonb_build_object('retryAt', 0, 'failures', 0, 'failingSince', floor(extract(epoch from now()) * 1000)) order by n), '[]')
  from jsonb_array_elements(held) with ordinality as _(task, n)
$$;

create trigger audit_entry_is_append_only before delete or update on audit_entry for each row execute function refuse_change_of_audit_entry();
