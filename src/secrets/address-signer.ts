/**
 * Signed addresses and tokens: the bearer may do what one was signed for, until it expires. They are JSON Web Tokens under a
 * key derived from the first secrets key of the node, so that every node with the same keys accepts what another has signed.
 * While keys are being replaced, those signed under an older key of the ring stay valid.
 */
import { hkdfSync } from 'node:crypto'
import type { SignedClaims } from '../core/access/signed-claims.ts'
import type { KeyRing } from '../core/secret/key-ring.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Vault } from './vault.ts'

const ALGORITHM = 'HS256'
const KEY_BYTES = 32
/** Makes the derived key different from those of all other uses of the secrets keys. */
const DERIVED_FOR = 'belfry signed addresses'

export type Verified =
  | { readonly ok: true; readonly claims: SignedClaims }
  /** Completes a sentence that begins with `The address`. */
  | { readonly ok: false; readonly reason: string }

export class AddressSigner {
  readonly #vault: Pick<Vault, 'requireRing' | 'ring'>
  readonly #clock: Clock
  /** Derived keys, by the fingerprint of the key that they are derived from. */
  readonly #derived = new Map<string, Uint8Array>()

  constructor({
    vault,
    clock,
  }: {
    readonly vault: Pick<Vault, 'requireRing' | 'ring'>
    readonly clock: Clock
  }) {
    this.#vault = vault
    this.#clock = clock
  }

  /** Signs claims for one purpose; they are not accepted for another. Throws on a node without keys. */
  async sign(purpose: string, claims: SignedClaims, expiresAt: number): Promise<string> {
    const { first } = this.#vault.requireRing()
    const { SignJWT } = await import('jose')
    return new SignJWT({ ...claims })
      .setProtectedHeader({ alg: ALGORITHM, kid: first.fingerprint })
      .setAudience(purpose)
      .setExpirationTime(Math.ceil(expiresAt / 1_000))
      .sign(this.#keyOf(first))
  }

  async verify(purpose: string, token: string): Promise<Verified> {
    const { jwtVerify, decodeProtectedHeader, errors } = await import('jose')
    try {
      const { kid } = decodeProtectedHeader(token)
      const key = this.#vault.ring?.keys.find(({ fingerprint }) => fingerprint === kid)
      if (!key) return { ok: false, reason: 'was signed with a key that this node does not hold' }
      const { payload } = await jwtVerify(token, this.#keyOf(key), {
        algorithms: [ALGORITHM],
        audience: purpose,
        currentDate: new Date(this.#clock.now()),
        requiredClaims: ['exp', 'subject', 'projectId'],
      })
      return { ok: true, claims: payload as unknown as SignedClaims }
    } catch (error) {
      if (error instanceof errors.JWTExpired) return { ok: false, reason: 'has expired' }
      return { ok: false, reason: 'is not valid for this request' }
    }
  }

  #keyOf({ fingerprint, bytes }: KeyRing['first']): Uint8Array {
    const known = this.#derived.get(fingerprint)
    if (known) return known
    const derived = new Uint8Array(hkdfSync('sha256', bytes, '', DERIVED_FOR, KEY_BYTES))
    this.#derived.set(fingerprint, derived)
    return derived
  }
}
