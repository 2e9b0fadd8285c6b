/** The reason for a change, which a request carries in a header. */
import { REASON_HEADER } from '../../src/core/audit-log/reason.ts'

/**
 * `fetch` sends each character of a header as one byte, and the server reads the bytes as UTF-8. Control characters, which are
 * not permitted in a header, become spaces.
 */
export function reasonHeader(reason = ''): Record<string, string> {
  const text = reason.replace(/\p{Cc}+/gu, ' ').trim()
  if (text === '') return {}
  const bytes = new TextEncoder().encode(text)
  return { [REASON_HEADER]: String.fromCharCode(...bytes) }
}
