/**
 * Secrets with which outgoing requests are signed. Those of the whole project are in `signing_secret`, those of one origin in
 * `endpoint_signing_secret`: nodes of release 0.1.0 sign every request of a project with all secrets in the first.
 */
import { sql } from '../database/sql.ts'

/** The receiver has to know each of them, so there are at most two: the current one and the one it replaces. */
export const MAX_LIVE_SECRETS = 2
/** Maximum number of origins of a project with their own secrets. Workers read all secrets every few seconds. */
export const MAX_ORIGINS_WITH_SECRETS = 100

/** A secret as users see it. */
export interface SigningSecretRow {
  readonly id: string
  /** The origin whose requests it signs; null for all origins without their own secrets. */
  readonly origin: string | null
  readonly createdAt: number
  /** When it stops being used; null if it was not replaced. */
  readonly expiresAt: number | null
}

/** Lists the secrets in use: those of the project, then those of each origin, newest first. With an origin, only its own. */
export const listSigningSecrets = (projectId: string, origin: string | null) => sql<SigningSecretRow>`
  select id, origin, created_at as "createdAt", expires_at as "expiresAt"
  from (select id, project_id, null as origin, created_at, expires_at from signing_secret
        union all
        select id, project_id, origin, created_at, expires_at from endpoint_signing_secret) s
  where project_id = ${projectId} and (expires_at is null or expires_at > now())
    and (${origin}::text is null or origin = ${origin}::text)
  order by origin collate "C" nulls first, id desc`

/** A project secret to add. */
export interface NewSigningSecret {
  readonly id: string
  readonly projectId: string
  /** As stored: encrypted if there is a key, otherwise plain. */
  readonly secret: Buffer
  readonly keyId: string | null
  /** Time after which the other secrets in use expire; null leaves them unchanged. */
  readonly othersExpireInMs: number | null
}

/** The id and creation time of an added secret. */
export type AddedSecret = Pick<SigningSecretRow, 'id' | 'createdAt'>

/** Adds a secret; no row if the maximum number is in use. Expired secrets are deleted. */
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

/** Adds a secret of an origin; no row if the maximum number is in use. Expired secrets of the project are deleted. */
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

/** Deletes a secret; no row if there was none. */
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

/** A secret with its value, for signing only. */
export interface LiveSecret {
  readonly id: string
  readonly projectId: string
  readonly origin: string | null
  readonly secret: Buffer
  /** The key that it is encrypted with; null if it is plain. */
  readonly keyId: string | null
  readonly expiresAt: number | null
}

/** Returns all secrets in use, the newest of each project and origin first. */
export const liveSecrets = () => sql<LiveSecret>`
  select id, project_id as "projectId", origin, secret, key_id as "keyId", expires_at as "expiresAt"
  from (select id, project_id, null as origin, secret, key_id, expires_at from signing_secret
        union all
        select id, project_id, origin, secret, key_id, expires_at from endpoint_signing_secret) s
  where expires_at is null or expires_at > now()
  order by project_id, id desc`
