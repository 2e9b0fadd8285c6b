/**
 * Where a redirect leads. The rules are those of browsers, where they are kind to the receiver, and stricter where
 * a redirect could carry a secret away: signatures, and headers that the task sets, stay with the origin that the task
 * names, for all of the way that is left, and from https nothing goes on over http. Who is public cannot send us
 * into a private network, where nobody outside could go.
 */

import { parseTargetUrl } from '../core/action/target-url.ts'
import { readUrl } from '../core/values/read-url.ts'
import { type HttpResponse, type Target, targetOf } from './http-client.ts'

/** One request on the way to the answer that counts. */
export interface Hop {
  readonly target: Target
  readonly method: string
  readonly body: string | undefined
  /** Whether the way has left the origin that the task names. */
  readonly isElsewhere: boolean
  /** Whether the way has come by a public address, from which none leads into a private network. */
  readonly onlyPublic: boolean
}

/** Statuses that ask to go elsewhere; the other 3xx do not. */
export const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** The next hop of a redirect; undefined if the response is not one; a string that says why it cannot be followed. */
export function nextHop(hop: Hop, { status, headers }: HttpResponse): Hop | string | undefined {
  const { location } = headers
  if (!REDIRECTS.has(status) || location === undefined) return undefined
  const { url } = hop.target
  const wanted = readUrl(location, url)
  if (wanted === null) return 'which is not a valid URL'
  const next = parseTargetUrl(wanted.href)
  if (!next.ok) return `which ${next.reason}`
  if (url.protocol === 'https:' && next.url.protocol === 'http:') return 'which downgrades from https to http'
  const isElsewhere = hop.isElsewhere || next.url.origin !== url.origin
  const target = targetOf(next.url)
  const { onlyPublic } = hop
  if (!becomesGet(status, hop.method)) return { ...hop, target, isElsewhere }
  return { target, method: hop.method === 'HEAD' ? 'HEAD' : 'GET', body: undefined, isElsewhere, onlyPublic }
}

/** 303 says so; 301 and 302 mean it for a POST, because everybody has read them that way. */
function becomesGet(status: number, method: string): boolean {
  return status === 303 || ((status === 301 || status === 302) && method === 'POST')
}
