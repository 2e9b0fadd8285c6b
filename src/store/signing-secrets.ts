/** Secrets that outgoing requests are signed with. What is secret of them leaves this file to workers alone. */
import { sql } from './sql.ts'

/** A receiver has to know each of them, so there are two at most: the one in use and the one it replaces. */
export const MAX_LIVE_SECRETS = 2

/** A secret as users may see it. */
export interface SigningSecretRow {
  readonly id: string
  readonly createdAt: number
  /** When it stops being used; null for one that nothing has replaced. */
  readonly expiresAt: number | null
}

/** The secrets in use, the newest first. */
export const listSigningSecrets = (projectId: string) => sql<SigningSecretRow>`
  select id, created_at as "createdAt", expires_at as "expiresAt" from signing_secret
  where project_id = ${projectId} and (expires_at is null or expires_at > now())
  order by id desc`

/** Makes others who change the secrets of a project wait. It does not hold up tasks, which refer to the project. */
export const lockSecretsOf = (projectId: string) => sql`
  select from project where id = ${projectId} for no key update`

/** A secret to add. */
export interface NewSigningSecret {
  readonly id: string
  readonly projectId: string
  readonly secret: Buffer
  /** After how long those that are in use are no longer; null leaves them as they are. */
  readonly othersExpireInMs: number | null
}

/** Adds a secret unless enough are in use; no row means that. What has expired goes for good. */
export const addSigningSecret = ({ id, projectId, secret, othersExpireInMs }: NewSigningSecret) => sql<
  Omit<SigningSecretRow, 'expiresAt'>
>`
  with expired as (
    delete from signing_secret where project_id = ${projectId} and expires_at <= now()
  ), added as (
    insert into signing_secret (id, project_id, secret)
    select ${id}, ${projectId}, ${secret}
    where (select count(*) from signing_secret where project_id = ${projectId} and (expires_at is null or expires_at > now())) < ${MAX_LIVE_SECRETS}
    returning id, created_at
  ), replaced as (
    update signing_secret set expires_at = now() + make_interval(secs => ${othersExpireInMs}::float8 / 1000)
    where ${othersExpireInMs}::float8 is not null and project_id = ${projectId} and exists (select from added)
      and (expires_at is null or expires_at > now() + make_interval(secs => ${othersExpireInMs}::float8 / 1000))
  )
  select id, created_at as "createdAt" from added`

/** Removes a secret; no row means that there was none. */
export const removeSigningSecret = (projectId: string, id: string) => sql<{ id: string }>`
  delete from signing_secret
  where project_id = ${projectId} and id = ${id} and (expires_at is null or expires_at > now())
  returning id`

/** A secret with what only those who sign may know. */
export interface LiveSecret {
  readonly projectId: string
  readonly secret: Buffer
  readonly expiresAt: number | null
}

/** All secrets in use, of each project the newest first. */
export const liveSecrets = () => sql<LiveSecret>`
  select project_id as "projectId", secret, expires_at as "expiresAt" from signing_secret
  where expires_at is null or expires_at > now()
  order by project_id, id desc`
