/** Keys of secrets for a test database. */
import type { Clock } from '../../src/runtime/clock.ts'
import { AddressSigner } from '../../src/secrets/address-signer.ts'
import { KeySource } from '../../src/secrets/key-source.ts'
import { Vault } from '../../src/secrets/vault.ts'
import type { Queryable } from '../../src/store/database/database.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'

/** The key of all test nodes that are not given another one. */
export const TEST_KEY = Buffer.alloc(32, 'belfry').toString('base64')

/** A vault with that key, or with the keys given; it knows of them once `runOnce` was called. */
export function aVault(db: Queryable, keys: string = TEST_KEY): Vault {
  const source = new KeySource({ keys, file: null, ownFile: null })
  return new Vault({ db, log: silentLogger(), source, nodeId: null, labels: [] })
}

/** What contexts of operations need for files. */
export const ofFiles = (vault: Vault, clock: Clock) => ({
  addresses: new AddressSigner({ vault, clock }),
  maxFileBytes: 256 * 1024 * 1024,
  programMaxima: null,
})
