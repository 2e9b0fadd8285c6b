/** Origins as browsers write them: scheme and host in lower case, the port only if it is not the default of the scheme. */

import { parseWantedUrl } from '../action/target-url.ts'
import { readUrl } from './read-url.ts'

export type ParsedOrigin =
  | { readonly ok: true; readonly origin: string }
  /** The reason, worded to follow the name of the field. */
  | { readonly ok: false; readonly reason: string }

/** Parses an origin in any spelling. A URL that is more than an origin is rejected, and the reason contains its origin. */
export function parseOrigin(text: string): ParsedOrigin {
  if (readUrl(text) === null)
    return { ok: false, reason: 'is not a valid origin; use the form https://example.com' }
  const parsed = parseWantedUrl(text)
  if (!parsed.ok) return parsed
  const { origin, href } = parsed.url
  if (href === `${origin}/`) return { ok: true, origin }
  return { ok: false, reason: `must not have a path, query or fragment; use ${origin}` }
}
