/** Which addresses an HTTP action may name: http and https, no user or password inside. */

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
  const target = parseTargetUrl(text)
  const kind = target.ok ? neverReached(target.url) : undefined
  if (!target.ok || kind === undefined) return target
  return {
    ok: false,
    reason: `must not point to ${target.url.hostname}, which is ${kind}; requests to such addresses are always refused`,
  }
}
