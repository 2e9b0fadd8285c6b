/** The keys that secrets are encrypted with: how much is encrypted with each of them, and which nodes have it. */
import type { Counted } from '../../core/values/counted.ts'
import { keysOfNodes, keyUses, type NodeKeys } from '../../store/secrets/keys.ts'
import type { Context } from '../context.ts'

const MAX_NODES = 500
/** Values of each kind that are counted. */
const MAX_VALUES_COUNTED = 100_000

/** A key, by its fingerprint. */
export interface EncryptionKey {
  readonly fingerprint: string
  /** Something is encrypted with it, or was when the keys were last rotated. */
  readonly isInUse: boolean
  readonly values: Counted
  /** Living nodes that encrypt with it, and that can decrypt with it. */
  readonly firstOn: number
  readonly heldBy: number
}

/** A node, its keys, and all others that are in use or that other nodes have; null if it does not tell. */
export interface KeyHolder extends NodeKeys {
  readonly missing: readonly string[] | null
}

/** All keys, and all nodes that encrypt with them. */
export interface EncryptionKeys {
  /** Those in use, the oldest first, then those that nodes have besides. */
  readonly keys: readonly EncryptionKey[]
  readonly unencrypted: Counted
  readonly nodes: readonly KeyHolder[]
}

export async function allEncryptionKeys({ db }: Context): Promise<EncryptionKeys> {
  const uses = await db.run(keyUses(MAX_VALUES_COUNTED))
  const holders = await db.run(keysOfNodes(MAX_NODES))
  const inUse = uses.flatMap(({ fingerprint }) => fingerprint ?? [])
  const valuesOf = (key: string | null): Counted => {
    const use = uses.find(({ fingerprint }) => fingerprint === key)
    return { count: use?.values ?? 0, atLeast: uses[0]?.isCut ?? false }
  }
  const all = [...new Set([...inUse, ...holders.flatMap(({ keys }) => keys ?? [])])]
  return {
    keys: all.map((fingerprint) => ({
      fingerprint,
      isInUse: inUse.includes(fingerprint),
      values: valuesOf(fingerprint),
      firstOn: holders.filter(({ keys }) => keys?.[0] === fingerprint).length,
      heldBy: holders.filter(({ keys }) => keys?.includes(fingerprint)).length,
    })),
    unencrypted: valuesOf(null),
    nodes: holders.map((holder) => ({ ...holder, missing: missingOf(holder, all) })),
  }
}

/** Keys that are not in use yet count too: before a new key becomes the first one, all nodes must have it. */
const missingOf = ({ keys }: NodeKeys, all: readonly string[]): string[] | null =>
  keys && all.filter((fingerprint) => !keys.includes(fingerprint))
