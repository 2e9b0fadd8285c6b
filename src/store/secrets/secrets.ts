/** Secrets of projects: their names and their encrypted values. */
import { list, part, sql } from '../database/sql.ts'

/** A secret as users see it. */
export interface SecretRow {
  readonly name: string
  readonly version: number
  readonly createdAt: number
  readonly updatedAt: number
}

const columns = part`name, version, created_at as "createdAt", updated_at as "updatedAt"`

/**
 * Creates a secret, or its next version; no row if the project has reached the maximum number. A secret that was deleted a
 * short time ago continues the numbering of its versions, whose values are still stored.
 */
export const nextSecretVersion = ({
  projectId,
  name,
  most,
}: {
  projectId: string
  name: string
  most: number
}) => sql<SecretRow & { readonly isNew: boolean }>`
  insert into secret (project_id, name, version)
  select ${projectId}::uuid, ${name},
         1 + coalesce((select max(version) from secret_version where project_id = ${projectId}::uuid and name = ${name}), 0)
  where exists (select from secret where project_id = ${projectId}::uuid and name = ${name})
     or (select count(*) from secret where project_id = ${projectId}::uuid) < ${most}::integer
  on conflict (project_id, name) do update set version = secret.version + 1, updated_at = now()
  returning ${columns}, xmax = 0 as "isNew"`

/** An encrypted value. */
export interface StoredVersion {
  readonly projectId: string
  readonly name: string
  readonly version: number
  readonly value: Buffer
  readonly keyId: string
}

/** Stores the value of a version, and marks the previous one as replaced. */
export const insertSecretVersion = ({ projectId, name, version, value, keyId }: StoredVersion) => sql`
  with replaced as (
    update secret_version set replaced_at = now()
    where project_id = ${projectId} and name = ${name} and replaced_at is null and version < ${version}::integer
  )
  insert into secret_version (project_id, name, version, value, key_id)
  values (${projectId}, ${name}, ${version}, ${value}, ${keyId})`

/** Returns which of the given secrets exist. None of them can be deleted before the commit. */
export const holdSecrets = (projectId: string, names: readonly string[]) => sql<{ name: string }>`
  select name from secret where project_id = ${projectId} and name = any(${list(names, (name) => name)}::text[])
  order by name for key share`

/** Creates secrets that do not exist; no row if the project would exceed the maximum number. */
export const insertSecrets = ({
  projectId,
  names,
  most,
}: {
  projectId: string
  names: readonly string[]
  most: number
}) => sql<{ name: string; version: number }>`
  insert into secret (project_id, name, version)
  select ${projectId}::uuid, n.name,
         1 + coalesce((select max(version) from secret_version v where v.project_id = ${projectId}::uuid and v.name = n.name), 0)
  from unnest(${list(names, (name) => name)}::text[]) as n(name)
  where (select count(*) from secret where project_id = ${projectId}::uuid) + ${names.length}::integer <= ${most}::integer
  returning name, version`

/** Stores the values of secrets that were just created. */
export const insertSecretVersions = (versions: readonly StoredVersion[]) => sql`
  insert into secret_version (project_id, name, version, value, key_id)
  select * from unnest(
    ${list(versions, (v) => v.projectId)}::uuid[], ${list(versions, (v) => v.name)}::text[], ${list(versions, (v) => v.version)}::integer[],
    ${list(versions, (v) => hexOf(v.value))}::bytea[], ${list(versions, (v) => v.keyId)}::text[])`

/** Returns bytes in the text format of bytea. */
export const hexOf = (bytes: Buffer): string => `\\x${bytes.toString('hex')}`

/** Which secrets to read, in the order of their names. */
export interface SecretPage {
  readonly projectId: string
  /** Only secrets after this name. */
  readonly after: string | null
  readonly limit: number
}

export const listSecrets = ({ projectId, after, limit }: SecretPage) => sql<SecretRow>`
  select ${columns} from secret
  where project_id = ${projectId} and name > ${after ?? ''}
  order by name limit ${limit}`

/** Identifies one secret. */
export interface SecretKey {
  readonly projectId: string
  readonly name: string
}

export const findSecret = ({ projectId, name }: SecretKey) => sql<SecretRow>`
  select ${columns} from secret where project_id = ${projectId} and name = ${name}`

/** Returns the secret, locked until the commit. */
export const lockSecret = ({ projectId, name }: SecretKey) => sql<SecretRow>`
  select ${columns} from secret where project_id = ${projectId} and name = ${name} for update`

/** Deletes a secret. Its last value is marked as replaced, so no further attempt gets it. */
export const deleteSecret = ({ projectId, name }: SecretKey) => sql`
  with gone as (
    delete from secret where project_id = ${projectId} and name = ${name}
  )
  update secret_version set replaced_at = now()
  where project_id = ${projectId} and name = ${name} and replaced_at is null`

/** Returns the current encrypted values of the given secrets; those that do not exist are left out. */
export const readSecrets = (projectId: string, names: readonly string[]) => sql<StoredVersion>`
  select v.project_id as "projectId", v.name, v.version, v.value, v.key_id as "keyId"
  from secret s join secret_version v on v.project_id = s.project_id and v.name = s.name and v.version = s.version
  where s.project_id = ${projectId} and s.name = any(${list(names, (name) => name)}::text[])`

/** Twice the maximum number of secrets of a project: their current values and as many replaced ones. */
const MOST_VALUES = 2_000

/**
 * Returns the values of the given secrets that an attempt in progress may have received. The newest value of each secret comes
 * first: however often one secret is replaced, the values of the others are included. Only the newest values of each name are
 * read, by index.
 */
export const readEverySecret = (projectId: string, names: readonly string[]) => sql<StoredVersion>`
  select ${projectId}::uuid as "projectId", n.name, v.version, v.value, v.key_id as "keyId"
  from unnest(${list(names, (name) => name)}::text[]) as n(name)
  cross join lateral (
    select version, value, key_id, row_number() over (order by version desc) as age from secret_version
    where project_id = ${projectId} and name = n.name
    order by version desc limit ${MOST_VALUES}
  ) v
  order by v.age, n.name limit ${MOST_VALUES}`

/** Returns which of the given names are not secrets of the project. */
export const missingSecrets = (projectId: string, names: readonly string[]) => sql<{ name: string }>`
  select name from unnest(${list(names, (name) => name)}::text[]) as u(name)
  where not exists (select from secret s where s.project_id = ${projectId} and s.name = u.name)
  order by name`

/** Deletes values that were replaced longer ago than any attempt lasts. */
export const deleteReplacedSecrets = (olderThanHours: number) => sql`
  delete from secret_version where replaced_at < now() - make_interval(hours => ${olderThanHours}::integer)`
