/** Keys of secrets for a test database. */
import type { Clock } from '../../src/runtime/clock.ts'
import { AddressSigner } from '../../src/secrets/address-signer.ts'
import { KeySource } from '../../src/secrets/key-source.ts'
import { Vault } from '../../src/secrets/vault.ts'
import type { Queryable } from '../../src/store/database/database.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'

/** The key of all test nodes without a key of their own. */
export const TEST_KEY = Buffer.alloc(32, 'belfry').toString('base64')

/** Creates a vault with this key or with the given keys; it loads them in `runOnce`. */
export function aVault(db: Queryable, keys: string = TEST_KEY): Vault {
  const source = new KeySource({ keys, file: null, ownFile: null })
  return new Vault({ db, log: silentLogger(), source, nodeId: null, labels: [] })
}

/** The parts of an operation's context that files need. */
export const ofFiles = (vault: Vault, clock: Clock) => ({
  addresses: new AddressSigner({ vault, clock }),
  maxFileBytes: 256 * 1024 * 1024,
  programMaxima: null,
})
