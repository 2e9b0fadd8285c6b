/** Signatures as Standard Webhooks 1.0.0 has them: HMAC-SHA-256 over id, timestamp and body. */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
/** The output size of SHA-256, the minimum that RFC 2104 recommends for HMAC keys. */
const SECRET_BYTES = 32
const MIN_BYTES = 24
const MAX_BYTES = 64

export const makeSecret = (): Buffer => randomBytes(SECRET_BYTES)

/** A secret as users see it. */
export const formatSecret = (secret: Buffer): string => PREFIX + secret.toString('base64')

/** Parses a secret, or returns what is wrong with the text. */
export function parseSecret(text: string): { ok: true; secret: Buffer } | { ok: false; reason: string } {
  const encoded = text.startsWith(PREFIX) ? text.slice(PREFIX.length) : ''
  const secret = Buffer.from(encoded, 'base64')
  const isBase64 = encoded !== '' && secret.toString('base64') === encoded
  if (isBase64 && secret.length >= MIN_BYTES && secret.length <= MAX_BYTES) return { ok: true, secret }
  return { ok: false, reason: `must be ${PREFIX} followed by ${MIN_BYTES} to ${MAX_BYTES} bytes in base64` }
}

/** The key that signs messages, created once for each secret. */
export type SigningKey = KeyObject

export const signingKey = (secret: Buffer): SigningKey => createSecretKey(secret)

/** What is signed. */
export interface SignedMessage {
  readonly id: string
  /** Seconds since 1970, as sent in the header. */
  readonly timestamp: string
  readonly body: string
}

/** The value of `webhook-signature`: one signature with each key. */
export function signMessage({ id, timestamp, body }: SignedMessage, keys: readonly SigningKey[]): string {
  const content = `${id}.${timestamp}.${body}`
  return keys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`).join(' ')
}
