/** The keys with which values are encrypted, and which nodes have them. */
import { list, sql } from '../database/sql.ts'

/** The first migration with secrets: older builds could not read encrypted values. */
export const SECRETS_MIGRATION = 51

/** Whether a node has the keys of the secrets. */
export type SecretsState = 'ready' | 'no_key' | 'other_key'

/** Returns the fingerprints of all keys in use. */
export const keysInUse = () => sql<{ fingerprint: string }>`
  select fingerprint from secrets_key order by created_at, fingerprint`

/** Records that a key is in use. The row stays locked until the commit, so that the key cannot be deleted as unused meanwhile. */
export const noteKey = (fingerprint: string) => sql`
  insert into secrets_key (fingerprint) values (${fingerprint})
  on conflict (fingerprint) do update set fingerprint = excluded.fingerprint`

/**
 * Deletes keys with which nothing is encrypted. The statement fails if a concurrent transaction encrypts something with one of
 * them.
 */
export const deleteUnusedKeys = (kept: string) => sql<{ fingerprint: string }>`
  delete from secrets_key k
  where fingerprint <> ${kept}
    and not exists (select from secret_version where key_id = k.fingerprint)
    and not exists (select from signing_secret where key_id = k.fingerprint)
    and not exists (select from endpoint_signing_secret where key_id = k.fingerprint)
    and not exists (select from subscription where key_id = k.fingerprint)
  returning fingerprint`

/** What a key encrypts. */
export interface KeyUse {
  /** Null for values that are stored plain. */
  readonly fingerprint: string | null
  readonly values: number
  /** A table has more values than were looked at. */
  readonly isCut: boolean
}

/** All keys in use and what each of them encrypts, counted in a limited number of rows of each table. */
export const keyUses = (maxPerTable: number) => sql<KeyUse>`
  with stored as materialized (
    (select 1 as source, key_id from secret_version limit ${maxPerTable})
    union all (select 2, key_id from signing_secret limit ${maxPerTable})
    union all (select 3, key_id from endpoint_signing_secret limit ${maxPerTable})
    union all (select 4, key_id from subscription limit ${maxPerTable})
  ), counted as (
    select key_id, count(*)::integer as values from stored group by key_id
  )
  select k.fingerprint, coalesce(c.values, 0) as values,
         exists (select from stored group by source having count(*) >= ${maxPerTable}) as "isCut"
  from secrets_key k full join counted c on c.key_id = k.fingerprint
  order by k.created_at, k.fingerprint`

/** A node, and the keys that it has. */
export interface NodeKeys {
  readonly id: string
  readonly name: string
  /** Null, as the keys are, for releases that do not tell. */
  readonly secrets: SecretsState | null
  /** In the order of the node: the first one encrypts. */
  readonly keys: readonly string[] | null
}

/** Living nodes by name, without remote workers, which never see a key. */
export const keysOfNodes = (limit: number) => sql<NodeKeys>`
  select id, name, secrets, secrets_keys as keys from node
  where dead_at is null and roles <> '{remote}' order by name, id limit ${limit}`

/** Notes how a node stands with the keys, which of them it has, and what it offers because of that. */
export const noteSecretsState = ({
  nodeId,
  state,
  keys,
  labels,
}: {
  nodeId: string
  state: SecretsState
  keys: readonly string[]
  labels: readonly string[]
}) => sql`
  update node set secrets = ${state}, secrets_keys = ${keys}::text[], labels = case when 'worker' = any(roles) then ${labels}::text[] else labels end
  where id = ${nodeId}`

/** Returns living nodes of releases without secrets. */
export const olderNodes = () => sql<{ name: string; version: string }>`
  select name, version from node where dead_at is null and secrets is null and roles <> '{remote}' order by started_at limit 20`

/**
 * Excludes older builds from the database, unless a node of one is alive; no row in that case. An older build that starts later
 * reads this and exits.
 */
export const closeToOlderBuilds = () => sql<{ oldest: number }>`
  update compatibility set oldest_migration = greatest(oldest_migration, ${SECRETS_MIGRATION}::integer)
  where not exists (select from node where dead_at is null and secrets is null and roles <> '{remote}')
  returning oldest_migration as oldest`

/** Returns whether a living node with one of the roles can read every secret. */
export const isAnyRoleReady = (roles: readonly string[]) => sql<{ isReady: boolean }>`
  select exists (
    select from node where dead_at is null and secrets = 'ready' and roles && ${list(roles, (role) => role)}::text[]) as "isReady"`

/** Excludes older builds from the database if every living node can read encrypted values; no row otherwise. */
export const closeForSealing = () => sql<{ oldest: number }>`
  update compatibility set oldest_migration = greatest(oldest_migration, ${SECRETS_MIGRATION}::integer)
  where not exists (select from node where dead_at is null and secrets is distinct from 'ready' and roles <> '{remote}')
  returning oldest_migration as oldest`

/** Returns whether there are encrypted and plain signing secrets, and whether a project needs a secret to send mail. */
export const signingSecretsStored = () => sql<{ isSealed: boolean; isPlain: boolean; isInMail: boolean }>`
  select exists (select from signing_secret where key_id is not null)
      or exists (select from endpoint_signing_secret where key_id is not null)
      or exists (select from subscription where key_id is not null) as "isSealed",
         exists (select from signing_secret where key_id is null)
      or exists (select from endpoint_signing_secret where key_id is null)
      or exists (select from subscription where key_id is null) as "isPlain",
         exists (select from project where archived_at is null
                   and concat(mail_from, ' ', mail_reply_to, ' ', mail_server) like '%{{secret.%') as "isInMail"`
