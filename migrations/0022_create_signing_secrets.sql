-- Secrets that outgoing requests of a project are signed with. A signature needs the secret itself, so it is stored as
-- it is, and no more than two are live at a time. A secret that was revoked is gone; one that was replaced ends at expires_at.
create table signing_secret (
  id         uuid primary key,
  project_id uuid not null references project (id),
  secret     bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
create index signing_secret_by_project on signing_secret (project_id, id);
