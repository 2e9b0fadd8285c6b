/** Which keys values are encrypted with, and which nodes can read them. */
import { list, sql } from '../database/sql.ts'

/** The first migration that knows secrets: older builds could not read what is encrypted. */
export const SECRETS_MIGRATION = 51

/** How a node stands with the keys of secrets. */
export type SecretsState = 'ready' | 'no_key' | 'other_key'

/** The fingerprints of all keys in use. */
export const keysInUse = () => sql<{ fingerprint: string }>`
  select fingerprint from secrets_key order by created_at, fingerprint`

/** Notes that a key is in use. The row stays locked until the commit, so that nobody takes it for unused meanwhile. */
export const noteKey = (fingerprint: string) => sql`
  insert into secrets_key (fingerprint) values (${fingerprint})
  on conflict (fingerprint) do update set fingerprint = excluded.fingerprint`

/** Forgets keys that nothing is encrypted with. Where something is being encrypted with one of them, that refuses it. */
export const forgetUnusedKeys = (kept: string) => sql<{ fingerprint: string }>`
  delete from secrets_key k
  where fingerprint <> ${kept}
    and not exists (select from secret_version where key_id = k.fingerprint)
    and not exists (select from signing_secret where key_id = k.fingerprint)
    and not exists (select from endpoint_signing_secret where key_id = k.fingerprint)
    and not exists (select from subscription where key_id = k.fingerprint)
  returning fingerprint`

/** Notes how a node stands with the keys, and what it offers because of that. */
export const noteSecretsState = ({
  nodeId,
  state,
  labels,
}: {
  nodeId: string
  state: SecretsState
  labels: readonly string[]
}) => sql`
  update node set secrets = ${state}, labels = case when 'worker' = any(roles) then ${labels}::text[] else labels end
  where id = ${nodeId}`

/** Living nodes of releases that know no secrets. */
export const olderNodes = () => sql<{ name: string; version: string }>`
  select name, version from node where dead_at is null and secrets is null and roles <> '{remote}' order by started_at limit 20`

/** Lets no older build use the database, unless a node of one is alive; no row means that. A build that starts later reads it and ends. */
export const closeToOlderBuilds = () => sql<{ oldest: number }>`
  update compatibility set oldest_migration = greatest(oldest_migration, ${SECRETS_MIGRATION}::integer)
  where not exists (select from node where dead_at is null and secrets is null and roles <> '{remote}')
  returning oldest_migration as oldest`

/** Whether a living node with one of the roles can read every secret. */
export const isAnyRoleReady = (roles: readonly string[]) => sql<{ isReady: boolean }>`
  select exists (
    select from node where dead_at is null and secrets = 'ready' and roles && ${list(roles, (role) => role)}::text[]) as "isReady"`

/** Whether every living node can read what is encrypted; then older builds are kept out from now on. No row otherwise. */
export const closeForSealing = () => sql<{ oldest: number }>`
  update compatibility set oldest_migration = greatest(oldest_migration, ${SECRETS_MIGRATION}::integer)
  where not exists (select from node where dead_at is null and secrets is distinct from 'ready' and roles <> '{remote}')
  returning oldest_migration as oldest`

/** Which secrets that sign there are, encrypted and plain; and whether a project needs a secret to send any of its messages. */
export const signingSecretsStored = () => sql<{ isSealed: boolean; isPlain: boolean; isInMail: boolean }>`
  select exists (select from signing_secret where key_id is not null)
      or exists (select from endpoint_signing_secret where key_id is not null)
      or exists (select from subscription where key_id is not null) as "isSealed",
         exists (select from signing_secret where key_id is null)
      or exists (select from endpoint_signing_secret where key_id is null)
      or exists (select from subscription where key_id is null) as "isPlain",
         exists (select from project where archived_at is null
                   and concat(mail_from, ' ', mail_reply_to, ' ', mail_server) like '%{{secret.%') as "isInMail"`
