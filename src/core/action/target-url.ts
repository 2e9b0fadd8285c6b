/** Which addresses an HTTP action may name: http and https, no user or password inside. */

import { hasReference, replaceReferences } from '../secret/secret-reference.ts'
import { readUrl } from '../values/read-url.ts'
import { neverReached } from './address.ts'

export type TargetUrl =
  | { readonly ok: true; readonly url: URL }
  /** The reason reads on after the name of the field, or after "the URL". */
  | { readonly ok: false; readonly reason: string }

/** Reads the address of an action. It is checked when the task is made and again before each request. */
export function parseTargetUrl(text: string): TargetUrl {
  const url = readUrl(text)
  if (url === null) return { ok: false, reason: 'is not a valid URL; use the form https://example.com/hook' }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { ok: false, reason: `must start with http:// or https://, not ${url.protocol.slice(0, 20)}` }
  // Credentials in a URL end up in logs and histories; a header can be kept out of both.
  if (url.username !== '' || url.password !== '')
    return { ok: false, reason: 'must not contain a user name or password; send them in a header' }
  return { ok: true, url }
}

/**
 * Reads the address of an action that somebody asks for. What no setting would let be reached is refused then and there, so
 * far as it can be read from the address; names are looked up, and addresses that depend on a setting decided, before each request.
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
 * An address that refers to secrets. Where it leads must not depend on them: the target, its limits and the address guard are
 * known before any value is. So it is read with two different values, which must lead to one origin.
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
