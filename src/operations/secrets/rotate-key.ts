/**
 * Encrypts all values with the first key of the ring, so that the other keys can be removed. It goes row by row while nodes
 * run: each node reads with all keys of its ring.
 */
import type { Binding, KeyRing } from '../../core/secret/key-ring.ts'
import { secretBinding, signingBinding, subscriptionBinding } from '../../secrets/vault.ts'
import { type Database, sqlState } from '../../store/database/database.ts'
import { deleteUnusedKeys, noteKey } from '../../store/secrets/keys.ts'
import {
  type Resealed,
  replaceSealed,
  rowsToSeal,
  SEALED_TABLES,
  type SealedRow,
  type SealedTable,
} from '../../store/secrets/resealing.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'

/** Number of rows per statement. */
const BATCH = 100
const STILL_REFERRED_TO = '23503'

/** The result of a rotation. */
export interface Rotation {
  /** The fingerprint of the key that all readable values are now encrypted with. */
  readonly key: string
  readonly encrypted: number
  /** Number of values that this node cannot decrypt; they are unchanged. */
  readonly unreadable: number
  /** Keys that no value is encrypted with any more. */
  readonly retired: readonly string[]
}

export async function rotateSecretsKey(context: Context): Promise<Rotation> {
  const { db, vault } = context
  const ring = vault.requireRing()
  const { encrypted, unreadable } = await sealAll(db, ring, { plainOnly: false })
  const retired = await retire(db, ring)
  const rotation = { key: ring.first.fingerprint, encrypted, unreadable, retired }
  const subject = { kind: 'encryption_key', id: rotation.key } as const
  await recordChange(db, context, {
    action: 'encryption_key.rotate',
    subject,
    after: rotation,
    projectId: null,
  })
  await vault.runOnce()
  return rotation
}

/** Encrypts all values that are not encrypted with the first key; with `plainOnly`, only those that are not encrypted at all. */
export async function sealAll(
  db: Database,
  ring: KeyRing,
  { plainOnly }: { readonly plainOnly: boolean },
): Promise<{ encrypted: number; unreadable: number }> {
  const sum = { encrypted: 0, unreadable: 0 }
  for (const table of SEALED_TABLES) {
    for (let after = ''; ; ) {
      const page = { table, key: ring.first.fingerprint, plainOnly, after, limit: BATCH }
      const rows = await db.run(rowsToSeal(page))
      const last = rows.at(-1)
      if (last === undefined) break
      const resealed = rows.flatMap((row) => reseal(table, row, ring))
      sum.unreadable += rows.length - resealed.length
      if (resealed.length > 0)
        sum.encrypted += await db.transaction(async (tx) => {
          await tx.run(noteKey(ring.first.fingerprint))
          return (await tx.run(replaceSealed(table, resealed))).length
        })
      after = last.id
    }
  }
  return sum
}

function reseal(table: SealedTable, row: SealedRow, ring: KeyRing): Resealed[] {
  const binding = bindingOf(table, row)
  const opened = row.keyId === null ? null : ring.open({ keyId: row.keyId, sealed: row.value }, binding)
  if (opened?.ok === false) return []
  const { sealed, keyId } = ring.seal(opened === null ? row.value : opened.value, binding)
  return [{ row, value: sealed, keyId }]
}

function bindingOf(table: SealedTable, { id, projectId, name, version }: SealedRow): Binding {
  if (table === 'secret') return secretBinding({ projectId, name: name ?? '', version: version ?? 0 })
  return table === 'subscription' ? subscriptionBinding(projectId, id) : signingBinding(projectId, id)
}

/** Retires unused keys. If a value is being encrypted with one of them at the moment, they stay until the next rotation. */
async function retire(db: Database, ring: KeyRing): Promise<string[]> {
  try {
    return (await db.run(deleteUnusedKeys(ring.first.fingerprint))).map(({ fingerprint }) => fingerprint)
  } catch (error) {
    if (sqlState(error) === STILL_REFERRED_TO) return []
    throw error
  }
}
