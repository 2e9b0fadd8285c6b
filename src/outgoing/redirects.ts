/**
 * Determines where a redirect leads. The rules are those of browsers where they help the receiver, and stricter where a
 * redirect could leak a secret: signatures, and headers that the task sets, go only to the origin that the task names, and are
 * not restored later in the chain; https is never downgraded to http. A public server cannot redirect a request into a private
 * network, which could not be reached from outside.
 */

import { parseTargetUrl } from '../core/action/target-url.ts'
import { readUrl } from '../core/values/read-url.ts'
import { type HttpResponse, type Target, targetOf } from './http-client.ts'

/** One request in a chain of redirects. */
export interface Hop {
  readonly target: Target
  readonly method: string
  readonly body: string | undefined
  /** Whether the chain has left the origin that the task names. */
  readonly isElsewhere: boolean
  /** Whether the chain has passed a public address, after which it must not lead into a private network. */
  readonly onlyPublic: boolean
}

/** Statuses that are redirects; the other 3xx are not. */
export const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/**
 * Returns the next hop of a redirect; undefined if the response is not a redirect; a string that says why it cannot be
 * followed.
 */
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

/**
 * Whether the next request is a GET. 303 requires it; 301 and 302 imply it for a POST, because clients have always treated them
 * so.
 */
function becomesGet(status: number, method: string): boolean {
  return status === 303 || ((status === 301 || status === 302) && method === 'POST')
}
