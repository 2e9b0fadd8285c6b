/**
 * Values as the audit log keeps them: without secrets and of bounded length. Callers hand over what the API would show, which
 * contains no secret; members whose names say that they hold one are blanked all the same.
 */
import { MASK } from '../action/secret-rule.ts'

/** What an entry keeps of a value, in bytes of JSON. */
export const MAX_RECORDED_BYTES = 4 * 1024

/** Members that may be replaced by their length; a value that is too long without them too is replaced as a whole. */
const MAX_OMITTED = 10

const SECRET_NAME = /(secret|password|passphrase|token|authorization|cookie|credential)s?$/i

/** JSON text of a value to record; null for none. Members that make it too long are replaced by their length. */
export function recordedValue(value: object | null | undefined): string | null {
  if (value === undefined || value === null) return null
  const text = blanked(value)
  if (Buffer.byteLength(text) <= MAX_RECORDED_BYTES) return text
  const kept = JSON.parse(text) as Record<string, unknown>
  const lengths = Object.entries(kept).map(([name, member]) => ({ name, bytes: bytesOf(member) }))
  const longest = lengths.sort((a, b) => b.bytes - a.bytes).slice(0, MAX_OMITTED)
  for (const { name, bytes } of longest) {
    kept[name] = omitted(bytes)
    if (bytesOf(kept) <= MAX_RECORDED_BYTES) return JSON.stringify(kept)
  }
  return JSON.stringify(omitted(Buffer.byteLength(text)))
}

const blanked = (value: unknown): string =>
  JSON.stringify(value, (name, member: unknown) =>
    typeof member === 'string' && SECRET_NAME.test(name) ? MASK : member,
  )

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
const omitted = (bytes: number) => ({ omitted: `${bytes} bytes` })
