/** The token of a remote worker: its id, to find it, and a secret, of which only the hash is stored. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { isUuid } from '../core/ids.ts'

const SECRET_BYTES = 32

export const newToken = (workerId: string): string =>
  `${workerId}.${randomBytes(SECRET_BYTES).toString('base64url')}`

/** Returns the id of the worker in a token; undefined if the token is malformed. */
export function workerOf(token: string): string | undefined {
  const [id = '', secret] = token.split('.')
  return secret && isUuid(id) ? id : undefined
}

export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

export const isHashOf = (token: string, hash: Buffer): boolean => {
  const own = hashOf(token)
  return own.length === hash.length && timingSafeEqual(own, hash)
}
