/**
 * Secrets that outgoing requests are signed with. Those of the whole project are in `signing_secret`, those of one origin in
 * `endpoint_signing_secret`: nodes of release 0.1.0 sign every request of a project with all that is in the first.
 */
import { sql } from '../database/sql.ts'

/** A receiver has to know each of them, so there are two at most: the one in use and the one it replaces. */
export const MAX_LIVE_SECRETS = 2
/** Origins of a project that may have secrets of their own. Workers read all secrets every few seconds. */
export const MAX_ORIGINS_WITH_SECRETS = 100

/** A secret as users may see it. */
export interface SigningSecretRow {
  readonly id: string
  /** Where requests signed with it go; null for all that have no secrets of their own. */
  readonly origin: string | null
  readonly createdAt: number
  /** When it stops being used; null for one that nothing has replaced. */
  readonly expiresAt: number | null
}

/** The secrets in use: those of the project, then those of each origin, the newest first. With an origin its own alone. */
export const listSigningSecrets = (projectId: string, origin: string | null) => sql<SigningSecretRow>`
  select id, origin, created_at as "createdAt", expires_at as "expiresAt"
  from (select id, project_id, null as origin, created_at, expires_at from signing_secret
        union all
        select id, project_id, origin, created_at, expires_at from endpoint_signing_secret) s
  where project_id = ${projectId} and (expires_at is null or expires_at > now())
    and (${origin}::text is null or origin = ${origin}::text)
  order by origin collate "C" nulls first, id desc`

/** A secret of the project to add. */
export interface NewSigningSecret {
  readonly id: string
  readonly projectId: string
  /** As it is stored: encrypted with a key, or plain without one. */
  readonly secret: Buffer
  readonly keyId: string | null
  /** After how long those that are in use are no longer; null leaves them as they are. */
  readonly othersExpireInMs: number | null
}

/** What is known of a secret once it is added. */
export type AddedSecret = Pick<SigningSecretRow, 'id' | 'createdAt'>

/** Adds a secret unless enough are in use; no row means that. What has expired goes for good. */
export const addSigningSecret = ({
  id,
  projectId,
  secret,
  keyId,
  othersExpireInMs,
}: NewSigningSecret) => sql<AddedSecret>`
  with expired as (
    delete from signing_secret where project_id = ${projectId} and expires_at <= now()
  ), added as (
    insert into signing_secret (id, project_id, secret, key_id)
    select ${id}, ${projectId}, ${secret}, ${keyId}::text
    where (select count(*) from signing_secret where project_id = ${projectId} and (expires_at is null or expires_at > now())) < ${MAX_LIVE_SECRETS}
    returning id, created_at
  ), replaced as (
    update signing_secret set expires_at = now() + make_interval(secs => ${othersExpireInMs}::float8 / 1000)
    where ${othersExpireInMs}::float8 is not null and project_id = ${projectId} and exists (select from added)
      and (expires_at is null or expires_at > now() + make_interval(secs => ${othersExpireInMs}::float8 / 1000))
  )
  select id, created_at as "createdAt" from added`

/** A secret of one origin to add. */
export interface NewEndpointSecret extends NewSigningSecret {
  readonly origin: string
}

/** Adds a secret of an origin unless enough are in use; no row means that. What has expired in the project goes for good. */
export const addEndpointSecret = ({
  id,
  projectId,
  origin,
  secret,
  keyId,
  othersExpireInMs,
}: NewEndpointSecret) => sql<AddedSecret>`
  with expired as (
    delete from endpoint_signing_secret where project_id = ${projectId} and expires_at <= now()
  ), live as materialized (
    select id, origin, expires_at from endpoint_signing_secret
    where project_id = ${projectId} and (expires_at is null or expires_at > now())
  ), added as (
    insert into endpoint_signing_secret (id, project_id, origin, secret, key_id)
    select ${id}, ${projectId}, ${origin}, ${secret}, ${keyId}::text
    where (select count(*) from live where origin = ${origin}) < ${MAX_LIVE_SECRETS}
      and (select count(distinct origin) from live where origin <> ${origin}) < ${MAX_ORIGINS_WITH_SECRETS}
    returning id, created_at
  ), replaced as (
    update endpoint_signing_secret set expires_at = now() + make_interval(secs => ${othersExpireInMs}::float8 / 1000)
    where ${othersExpireInMs}::float8 is not null and exists (select from added)
      and id in (select id from live where origin = ${origin}
                 and (expires_at is null or expires_at > now() + make_interval(secs => ${othersExpireInMs}::float8 / 1000)))
  )
  select id, created_at as "createdAt" from added`

/** Removes a secret; no row means that there was none. */
export const removeSigningSecret = (projectId: string, id: string) => sql<{ id: string }>`
  with general as (
    delete from signing_secret
    where project_id = ${projectId} and id = ${id} and (expires_at is null or expires_at > now())
    returning id
  ), bound as (
    delete from endpoint_signing_secret
    where project_id = ${projectId} and id = ${id} and (expires_at is null or expires_at > now())
    returning id
  )
  select id from general union all select id from bound`

/** A secret with what only those who sign may know. */
export interface LiveSecret {
  readonly id: string
  readonly projectId: string
  readonly origin: string | null
  readonly secret: Buffer
  /** The key that it is encrypted with; null where it is not. */
  readonly keyId: string | null
  readonly expiresAt: number | null
}

/** All secrets in use, of each project and each origin the newest first. */
export const liveSecrets = () => sql<LiveSecret>`
  select id, project_id as "projectId", origin, secret, key_id as "keyId", expires_at as "expiresAt"
  from (select id, project_id, null as origin, secret, key_id, expires_at from signing_secret
        union all
        select id, project_id, origin, secret, key_id, expires_at from endpoint_signing_secret) s
  where expires_at is null or expires_at > now()
  order by project_id, id desc`
