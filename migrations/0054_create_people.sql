-- Somebody who has signed in through the OpenID Connect provider, as it described them at the last sign-in.
create table person (
  id              uuid not null,
  issuer          text not null,
  subject         text not null,
  -- In lower case, and only where the provider has verified it: members are found by it.
  email           text,
  name            text,
  groups          text[] not null,
  created_at      timestamptz not null default now(),
  signed_in_at    timestamptz not null default now(),
  constraint person_pkey primary key (id),
  constraint person_of_issuer unique (issuer, subject)
);

-- Which role whom is given, by address or by group. What a person may do follows from these rows whenever it is asked.
create table member (
  id         uuid not null,
  -- Null: the role counts in every project.
  project_id uuid references project,
  kind       text not null,
  who        text not null,
  role       text not null,
  created_at timestamptz not null default now(),
  created_by text,
  constraint member_pkey primary key (id),
  constraint member_who unique nulls not distinct (project_id, kind, who),
  constraint member_kind check (kind in ('email', 'group')),
  constraint member_role check (role in ('viewer', 'operator', 'editor', 'admin'))
);
create index member_by_who on member (kind, who);

-- Somebody who is signed in at the dashboard: a person, or whoever knows a key. The token is random, so a plain hash of it is kept.
create table session (
  id         uuid not null,
  token_hash bytea not null,
  person_id  uuid references person on delete cascade,
  -- The hash of the key, which may be one that no table holds; the session is good for as long as the key is.
  key_hash   bytea,
  created_at timestamptz not null default now(),
  -- Written about once a minute.
  seen_at    timestamptz not null default now(),
  constraint session_pkey primary key (id),
  constraint session_token_hash_key unique (token_hash),
  constraint session_of_somebody check ((person_id is null) <> (key_hash is null))
);
create index session_of_person on session (person_id) where person_id is not null;
create index session_of_key on session (key_hash) where key_hash is not null;
create index session_by_seen_at on session (seen_at);
