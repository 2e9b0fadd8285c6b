/**
 * The keys that encrypt secrets, with AES-256-GCM. The first key of a ring encrypts and all of them decrypt, so that a key can
 * be replaced while nodes run. The identity of a value is authenticated with it, so a value that is moved to another row cannot
 * be decrypted there.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const FINGERPRINT_CHARACTERS = 16
export const MAX_KEYS = 10

/** One key, and the fingerprint that identifies it in the database. */
export interface RingKey {
  readonly fingerprint: string
  readonly bytes: Buffer
}

/** An encrypted value as it is stored. */
export interface Sealed {
  readonly keyId: string
  readonly sealed: Buffer
}

/** What the value is and who owns it, which is authenticated with the value. */
export type Binding = readonly (string | number)[]

export type Opened =
  | { readonly ok: true; readonly value: Buffer }
  /** The value was encrypted with a key that the ring does not have, or it is not the value that was encrypted for this row. */
  | { readonly ok: false; readonly reason: 'unknown_key' | 'damaged' }

export class KeyRing {
  readonly keys: readonly RingKey[]
  readonly first: RingKey

  constructor(keys: readonly Buffer[]) {
    const [first, ...others] = keys.map((bytes) => ({ fingerprint: fingerprintOf(bytes), bytes }))
    if (!first) throw new Error('a key ring has at least one key')
    this.first = first
    this.keys = [first, ...others]
  }

  holds(fingerprint: string): boolean {
    return this.keys.some((key) => key.fingerprint === fingerprint)
  }

  /** Encrypts with the first key. */
  seal(value: Buffer, binding: Binding): Sealed {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.first.bytes, nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(bytesOf(binding))
    const text = Buffer.concat([cipher.update(value), cipher.final()])
    return {
      keyId: this.first.fingerprint,
      sealed: Buffer.concat([nonce, cipher.getAuthTag(), text]),
    }
  }

  open({ keyId, sealed }: Sealed, binding: Binding): Opened {
    const key = this.keys.find(({ fingerprint }) => fingerprint === keyId)
    if (!key) return { ok: false, reason: 'unknown_key' }
    try {
      const nonce = sealed.subarray(0, NONCE_BYTES)
      const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
      const decipher = createDecipheriv(ALGORITHM, key.bytes, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(bytesOf(binding))
      decipher.setAuthTag(tag)
      const text = sealed.subarray(NONCE_BYTES + TAG_BYTES)
      return { ok: true, value: Buffer.concat([decipher.update(text), decipher.final()]) }
    } catch {
      return { ok: false, reason: 'damaged' }
    }
  }
}

const bytesOf = (binding: Binding): Buffer => Buffer.from(JSON.stringify(['belfry', ...binding]))

/** Keys are random, so a hash reveals nothing about them. */
function fingerprintOf(key: Buffer): string {
  const hash = createHash('sha256').update('belfry secrets key').update(key)
  return hash.digest('hex').slice(0, FINGERPRINT_CHARACTERS)
}

/** Makes a new key in the form for an environment variable or a file. */
export const newKey = (): string => randomBytes(KEY_BYTES).toString('base64')

export type ReadKeyRing =
  | { readonly ok: true; readonly ring: KeyRing }
  /** The reason, worded to follow the name of the setting or file. It never contains a key. */
  | { readonly ok: false; readonly reason: string }

const WANTED = `must contain keys of ${KEY_BYTES} random bytes in base64 or hexadecimal; to make one: openssl rand -base64 ${KEY_BYTES}`

/** Parses keys separated by spaces, commas or line breaks. A line that begins with # is a comment. */
export function parseKeyRing(text: string): ReadKeyRing {
  const words = text
    .split(/\r?\n/)
    .filter((line) => !line.trimStart().startsWith('#'))
    .flatMap((line) => line.split(/[\s,]+/))
    .filter((word) => word !== '')
  if (words.length === 0) return { ok: false, reason: `is empty; it ${WANTED}` }
  if (words.length > MAX_KEYS) return { ok: false, reason: `must not contain more than ${MAX_KEYS} keys` }
  const keys: Buffer[] = []
  for (const [i, word] of words.entries()) {
    const key = keyOf(word)
    if (key === null) return { ok: false, reason: `${WANTED} (key ${i + 1} is not such a key)` }
    keys.push(key)
  }
  return { ok: true, ring: new KeyRing(keys) }
}

function keyOf(word: string): Buffer | null {
  if (/^[0-9a-fA-F]{64}$/.test(word)) return Buffer.from(word, 'hex')
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(word)) return null
  const key = Buffer.from(word, 'base64')
  return key.length === KEY_BYTES ? key : null
}
