/**
 * Reads and replaces every encrypted value, row by row, to encrypt it with another key. A row is replaced only if it is
 * unchanged since it was read, so that no concurrent write is lost. Signing secrets that were created before there were keys
 * are stored plain.
 */
import { list, part, sql } from '../database/sql.ts'
import { hexOf } from './secrets.ts'

/** The tables with encrypted values. */
export const SEALED_TABLES = ['secret', 'signing_secret', 'endpoint_signing_secret', 'subscription'] as const
export type SealedTable = (typeof SEALED_TABLES)[number]

/** A value, encrypted or still plain. */
export interface SealedRow {
  readonly id: string
  readonly projectId: string
  /** Set only for secrets. */
  readonly name: string | null
  readonly version: number | null
  readonly value: Buffer
  readonly keyId: string | null
}

/** The secret of a subscription is stored as text, which is base64 once it is encrypted. */
const subscriptionValue = part`case when s.key_id is null then convert_to(s.secret, 'utf8') else decode(s.secret, 'base64') end`

/** The rows of each table with their ids. A secret is identified by its full key. */
const sources = {
  secret: part`select project_id || '/' || name || '/' || version as id, project_id, name, version, value, key_id from secret_version`,
  signing_secret: part`select id::text, project_id, null::text as name, null::integer as version, secret as value, key_id from signing_secret`,
  endpoint_signing_secret: part`select id::text, project_id, null::text as name, null::integer as version, secret as value, key_id from endpoint_signing_secret`,
  subscription: part`select id::text, project_id, null::text as name, null::integer as version, ${subscriptionValue} as value, key_id from subscription s`,
} as const

/** Which rows to read: rows after an id that are not encrypted with the given key or, with `plainOnly`, not encrypted at all. */
export interface ResealPage {
  readonly table: SealedTable
  readonly key: string
  readonly plainOnly: boolean
  readonly after: string
  readonly limit: number
}

export const rowsToSeal = ({ table, key, plainOnly, after, limit }: ResealPage) => sql<SealedRow>`
  select id, project_id as "projectId", name, version, value, key_id as "keyId" from (${sources[table]}) s
  where id > ${after} and (key_id is null or (not ${plainOnly}::boolean and key_id <> ${key}))
  order by id limit ${limit}`

/** A row and its new value. */
export interface Resealed {
  readonly row: SealedRow
  readonly value: Buffer
  readonly keyId: string
}

/** Replaces values that are unchanged since they were read; returns their ids. */
export function replaceSealed(table: SealedTable, rows: readonly Resealed[]) {
  const input = part`unnest(
    ${list(rows, ({ row }) => row.id)}::text[], ${list(rows, ({ row }) => row.projectId)}::uuid[], ${list(rows, ({ row }) => row.name)}::text[],
    ${list(rows, ({ row }) => row.version)}::integer[], ${list(rows, ({ row }) => hexOf(row.value))}::bytea[],
    ${list(rows, ({ value }) => hexOf(value))}::bytea[], ${list(rows, ({ keyId }) => keyId)}::text[])
    as i(id, project_id, name, version, before, after, key_id)`
  switch (table) {
    case 'secret':
      return sql<{ id: string }>`
        update secret_version v set value = i.after, key_id = i.key_id from ${input}
        where v.project_id = i.project_id and v.name = i.name and v.version = i.version and v.value = i.before returning i.id`
    case 'signing_secret':
      return sql<{ id: string }>`
        update signing_secret s set secret = i.after, key_id = i.key_id from ${input}
        where s.id = i.id::uuid and s.secret = i.before returning i.id`
    case 'endpoint_signing_secret':
      return sql<{ id: string }>`
        update endpoint_signing_secret s set secret = i.after, key_id = i.key_id from ${input}
        where s.id = i.id::uuid and s.secret = i.before returning i.id`
    case 'subscription':
      return sql<{ id: string }>`
        update subscription s set secret = encode(i.after, 'base64'), key_id = i.key_id from ${input}
        where s.id = i.id::uuid and ${subscriptionValue} = i.before returning i.id`
  }
}
