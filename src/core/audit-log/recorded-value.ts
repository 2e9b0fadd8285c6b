/**
 * Values as the audit log stores them: without secrets and of bounded length. Callers pass what the API would show, which
 * contains no secret; as a second safeguard, members whose names suggest a secret are masked.
 */
import { MASK } from '../action/secret-rule.ts'

/** Maximum size of a recorded value, in bytes of JSON. */
export const MAX_RECORDED_BYTES = 4 * 1024

/** Maximum number of members that are replaced by their length. If the value is still too long, it is replaced as a whole. */
const MAX_OMITTED = 10

const SECRET_NAME = /(secret|password|passphrase|token|authorization|cookie|credential)s?$/i

/** Returns the JSON of a value to record; null if there is no value. Members that make it too long are replaced by their length. */
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
