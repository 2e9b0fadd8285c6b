/** Signatures as Standard Webhooks 1.0.0 has them: HMAC-SHA-256 over id, timestamp and body. */
import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
const SECRET_BYTES = 24
const MIN_BYTES = 24
const MAX_BYTES = 64

export const makeSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64')

/** What is wrong with a secret, or null. */
export function secretProblem(secret: string): string | null {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : ''
  const key = Buffer.from(encoded, 'base64')
  const isBase64 = encoded !== '' && key.toString('base64') === encoded
  if (isBase64 && key.length >= MIN_BYTES && key.length <= MAX_BYTES) return null
  return `must be ${PREFIX} and ${MIN_BYTES} to ${MAX_BYTES} bytes as base64`
}

/** What is signed. */
export interface SignedMessage {
  readonly id: string
  /** Seconds since the epoch. */
  readonly timestamp: number
  readonly body: string
}

export function signMessage({ id, timestamp, body }: SignedMessage, secret: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}
