-- Signing secrets for one origin (scheme, host and port): requests there are signed with them instead of the secrets of the
-- project. They have a table of their own because release 0.1.0 signs every request of a project with each row of signing_secret.
create table endpoint_signing_secret (
  id         uuid primary key,
  project_id uuid not null references project (id),
  origin     text not null,
  secret     bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
create index endpoint_signing_secret_by_origin on endpoint_signing_secret (project_id, origin);
