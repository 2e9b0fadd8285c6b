/** Keys of secrets for a test database. */
import { newKey } from '../../src/core/secret/key-ring.ts'
import { KeySource } from '../../src/secrets/key-source.ts'
import { Vault } from '../../src/secrets/vault.ts'
import type { Queryable } from '../../src/store/database/database.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'

/** A vault with a key of its own, or with the keys given; it knows of them once `runOnce` was called. */
export function aVault(db: Queryable, keys: string = newKey()): Vault {
  const source = new KeySource({ keys, file: null, ownFile: null })
  return new Vault({ db, log: silentLogger(), source, nodeId: null, labels: [] })
}
