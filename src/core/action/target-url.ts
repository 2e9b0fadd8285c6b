/** The URLs that HTTP actions may have: http and https, without a user name or password. */

import { hasReference, replaceReferences } from '../secret/secret-reference.ts'
import { readUrl } from '../values/read-url.ts'
import { neverReached } from './address.ts'

export type TargetUrl =
  | { readonly ok: true; readonly url: URL }
  /** The reason, worded to follow the name of the field or "the URL". */
  | { readonly ok: false; readonly reason: string }

/** Parses the URL of an action. It is checked when the task is created and again before each request. */
export function parseTargetUrl(text: string): TargetUrl {
  const url = readUrl(text)
  if (url === null) return { ok: false, reason: 'is not a valid URL; use the form https://example.com/hook' }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { ok: false, reason: `must start with http:// or https://, not ${url.protocol.slice(0, 20)}` }
  // Credentials in a URL end up in logs and in history; headers can be kept out of both.
  if (url.username !== '' || url.password !== '')
    return { ok: false, reason: 'must not contain a user name or password; send them in a header' }
  return { ok: true, url }
}

/**
 * Parses the URL of an action in a request. A host that no setting would allow is rejected at once if the URL contains its
 * address. Before each request, names are resolved, and addresses that depend on a setting are checked.
 */
export function parseWantedUrl(text: string): TargetUrl {
  const target = hasReference(text) ? parseReferring(text) : parseTargetUrl(text)
  const kind = target.ok ? neverReached(target.url) : undefined
  if (!target.ok || kind === undefined) return target
  return {
    ok: false,
    reason: `must not point to ${target.url.hostname}, which is ${kind}; requests to such addresses are always refused`,
  }
}

/**
 * Parses a URL that refers to secrets. The secrets must not determine where it leads, because the target, its limits and the
 * address guard are needed before any value is known. So the URL is parsed with two different values, and both must give the
 * same origin.
 */
function parseReferring(text: string): TargetUrl {
  const [one, other] = [withValue(text, 'a'), withValue(text, 'b')]
  const isSame = one.ok && other.ok && one.url.origin === other.url.origin
  if (isSame) return one
  if (!one.ok && !hasReference(text.replace(/^([^:/?#\\]*:[/\\]*[^/?#\\]*).*$/s, '$1'))) return one
  return {
    ok: false,
    reason:
      'must not contain a secret in its scheme, user name, host or port; secrets are allowed only in the path or query',
  }
}

const withValue = (text: string, value: string): TargetUrl =>
  parseTargetUrl(replaceReferences(text, () => value))
