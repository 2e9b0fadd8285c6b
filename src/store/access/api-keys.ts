/** API keys: their scope, their rights and their expiry. */
import type { Reach, Role } from '../../core/access/role.ts'
import type { KeyLimits } from '../../core/limits/limits.ts'
import { list, part, sql } from '../database/sql.ts'

/** An API key as users see it. */
export interface ApiKeyRow extends Reach {
  readonly id: string
  /** Null for a key of the installation. */
  readonly projectId: string | null
  readonly projectName: string | null
  readonly name: string
  readonly role: Role
  readonly hint: string
  readonly createdAt: number
  readonly createdBy: string | null
  readonly revokedAt: number | null
  readonly rotatedTo: string | null
  readonly lastUsedAt: number | null
}

/** A valid key: the columns that authorizing a request needs. */
export interface GoodKeyRow extends Reach {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly projectId: string | null
}

const limits = part`case when num_nonnulls(k.request_rate, k.min_period_ms, k.max_ahead_ms, k.max_payload_bytes) > 0 then jsonb_build_object(
    'requestRate', k.request_rate, 'minPeriodMs', k.min_period_ms, 'maxAheadMs', k.max_ahead_ms, 'maxPayloadBytes', k.max_payload_bytes) end as limits`

const good = part`k.revoked_at is null and (k.expires_at is null or k.expires_at > now())`

const known = part`k.id, k.name, k.role, k.project_id as "projectId", k.queues, k.networks::text[] as networks, k.expires_at as "expiresAt", ${limits}`

export const findGoodKey = (hash: Buffer) => sql<GoodKeyRow>`
  select ${known} from api_key k where k.hash = ${hash} and ${good}`

export const goodKeyById = (id: string) => sql<GoodKeyRow>`
  select ${known} from api_key k where k.id = ${id} and ${good}`

/** Returns which of the given keys are valid. */
export const goodAmong = (ids: readonly string[]) => sql<{ id: string }>`
  select k.id from api_key k where k.id = any(${list(ids, (id) => id)}::uuid[]) and ${good}`

/** Returns one row if any key exists, even a revoked or expired one. */
export const anyKey = () => sql<{ id: string }>`select id from api_key limit 1`

/** Who can administer the installation besides the valid keys in the table. */
export interface OtherAdmins {
  /** Somebody can, whatever is stored. */
  readonly areThere: boolean
  /** People can sign in, so members of the installation with the role admin count. */
  readonly canBeMembers: boolean
}

/** Whether somebody can administer the installation. A key that is limited to queues cannot. */
const isAdministered = ({ areThere, canBeMembers }: OtherAdmins) =>
  part`(${areThere}::boolean
    or exists (select from api_key k where k.project_id is null and k.role = 'admin' and k.queues is null and ${good})
    or (${canBeMembers}::boolean and exists (select from member m where m.project_id is null and m.role = 'admin')))`

/** Returns one row if somebody can administer the installation. */
export const anyAdmin = (others: OtherAdmins) =>
  sql<{ one: number }>`select 1 as one where ${isAdministered(others)}`

/** Records when keys were last used; a later use that is already recorded stays. */
export const noteUses = (uses: readonly { readonly id: string; readonly at: number }[]) => sql`
  update api_key k set last_used_at = to_timestamp(u.ms / 1000)
  from unnest(${list(uses, ({ id }) => id)}::uuid[], ${list(uses, ({ at }) => at)}::float8[]) as u(id, ms)
  where k.id = u.id and (k.last_used_at is null or k.last_used_at < to_timestamp(u.ms / 1000))`

/** A key to insert. */
export interface NewApiKey extends Reach {
  readonly id: string
  readonly projectId: string | null
  readonly name: string
  readonly role: Role
  readonly hash: Buffer
  readonly hint: string
  readonly createdBy: string | null
}

const texts = (values: readonly string[] | null) => values && list(values, (value) => value)

/** Counts the valid keys of a project, or of the installation if null. */
export const countGoodKeys = (projectId: string | null) => sql<{ count: number }>`
  select count(*)::integer as count from api_key k where k.project_id is not distinct from ${projectId}::uuid and ${good}`

/**
 * Inserts a key. No row if nobody could administer the installation then: the server requires a key as soon as there is one, so
 * the first must be one that can create others.
 */
export const insertKey = (key: NewApiKey, others: OtherAdmins) => sql<{ createdAt: number }>`
  insert into api_key (id, project_id, name, role, hash, hint, queues, networks, created_by, expires_at, request_rate, min_period_ms, max_ahead_ms, max_payload_bytes)
  select ${key.id}::uuid, ${key.projectId}::uuid, ${key.name}, ${key.role}, ${key.hash}::bytea, ${key.hint},
         ${texts(key.queues)}::text[], ${texts(key.networks)}::text[]::cidr[], ${key.createdBy}, to_timestamp(${key.expiresAt}::float8 / 1000),
         ${key.limits?.requestRate ?? null}::text, ${key.limits?.minPeriodMs ?? null}::bigint, ${key.limits?.maxAheadMs ?? null}::bigint, ${key.limits?.maxPayloadBytes ?? null}::integer
  where (${key.projectId}::uuid is null and ${key.role} = 'admin' and ${texts(key.queues)}::text[] is null) or ${isAdministered(others)}
  returning created_at as "createdAt"`

/** Which keys a caller may manage: those of a project and, with `withInstallation`, those of the installation. */
export interface KeyScope {
  readonly projectId: string
  readonly withInstallation: boolean
}

const within = ({ projectId, withInstallation }: KeyScope) =>
  part`(k.project_id = ${projectId} or (k.project_id is null and ${withInstallation}::boolean))`

const shown = part`
  k.id, k.project_id as "projectId", p.name as "projectName", k.name, k.role, k.hint, k.queues, k.networks::text[] as networks, ${limits},
  k.created_at as "createdAt", k.created_by as "createdBy", k.expires_at as "expiresAt", k.revoked_at as "revokedAt",
  k.rotated_to as "rotatedTo", k.last_used_at as "lastUsedAt"`

/** Lists keys, newest first. */
export const listKeys = (scope: KeyScope, { before, limit }: { before: string | null; limit: number }) =>
  sql<ApiKeyRow>`
  select ${shown} from api_key k left join project p on p.id = k.project_id
  where ${within(scope)} and (${before}::uuid is null or k.id < ${before}::uuid)
  order by k.id desc limit ${limit}`

export const readKey = (scope: KeyScope, id: string) => sql<ApiKeyRow>`
  select ${shown} from api_key k left join project p on p.id = k.project_id where k.id = ${id} and ${within(scope)}`

/** Locks a key against concurrent changes; no row if it does not exist. */
export const lockKey = (scope: KeyScope, id: string) => sql<{ id: string }>`
  select k.id from api_key k where k.id = ${id} and ${within(scope)} for update`

export const setKeyLimits = (id: string, limits: KeyLimits) => sql`
  update api_key set request_rate = ${limits.requestRate}, min_period_ms = ${limits.minPeriodMs}::bigint,
    max_ahead_ms = ${limits.maxAheadMs}::bigint, max_payload_bytes = ${limits.maxPayloadBytes}::integer
  where id = ${id}`

/** Revokes a key permanently; the time of an earlier revocation stays. No row if the key does not exist. */
export const revokeKey = (scope: KeyScope, id: string) => sql<{ id: string }>`
  update api_key k set revoked_at = coalesce(k.revoked_at, now()) where k.id = ${id} and ${within(scope)} returning k.id`

/** A key that replaces another. */
export interface Successor {
  readonly id: string
  readonly hash: Buffer
  readonly hint: string
  readonly createdBy: string | null
  readonly expiresAt: number | null
  /** How long the old key stays valid beside this one. */
  readonly overlapMs: number
}

/**
 * Inserts a key with the rights of an old one, which expires after the overlap. No row if the old key is no longer valid or was
 * rotated before.
 */
export const rotateKey = (scope: KeyScope, id: string, successor: Successor) => sql<{ id: string }>`
  with old as (
    select k.* from api_key k where k.id = ${id} and ${within(scope)} and ${good} and k.rotated_to is null for update
  ), made as (
    insert into api_key (id, project_id, name, role, hash, hint, queues, networks, created_by, expires_at, request_rate, min_period_ms, max_ahead_ms, max_payload_bytes)
    select ${successor.id}::uuid, project_id, name, role, ${successor.hash}::bytea, ${successor.hint}, queues, networks,
           ${successor.createdBy}, to_timestamp(${successor.expiresAt}::float8 / 1000), request_rate, min_period_ms, max_ahead_ms, max_payload_bytes
    from old
    returning id
  )
  update api_key k
  set rotated_to = made.id,
      expires_at = least(k.expires_at, now() + make_interval(secs => ${successor.overlapMs}::float8 / 1000))
  from made where k.id = ${id}
  returning made.id`
