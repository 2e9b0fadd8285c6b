import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../core/errors.ts'
import type { App } from '../app.ts'
import { bearerOf } from './request.ts'
import { cookieOf } from './session-cookie.ts'

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const MAX_SHOWN_CHARACTERS = 200

/**
 * Any page that a browser shows can make it send requests here, also such that ask nobody first: a form, or a fetch
 * without a body. Browsers say which site they act for; whatever changes something is refused when that is another one.
 * Programs that are no browsers say nothing, and are let through. Reads are let through as well: only sites that the
 * operator has named may read the answer. Scheme and host are those that the browser has used, as far as a proxy
 * that is believed tells them.
 */
export function guardOrigin(app: App, { allowedOrigins, publicUrl }: OriginRules): void {
  const own = publicUrl === null ? [] : [publicUrl]
  app.addHook('onRequest', async (request) => {
    if (READS.has(request.method)) return
    const isBySession = actsBySession(request, publicUrl)
    const foreign = foreignOrigin(request, [...own, ...(isBySession ? [] : allowedOrigins)])
    if (foreign !== undefined) throw refusalOf(foreign)
    if (isBySession && !saysItIsOurs(request)) throw refusalOf(null)
  })
}

/** What tells our own pages from others. */
export interface OriginRules {
  /** Other sites whose pages may change things, with a key of their own: a session is for our own pages alone. */
  readonly allowedOrigins: readonly string[]
  /** Where our own pages are, besides at the address that a request came to. */
  readonly publicUrl: string | null
}

/** A cookie comes along whoever has made the browser send the request; a key has to be known. */
const actsBySession = (request: FastifyRequest, publicUrl: string | null): boolean =>
  bearerOf(request) === null && cookieOf(request, 'belfry', publicUrl) !== null

/** What says nothing is no browser, or hides what it does: neither may use a session. What it says was found to be true before. */
const saysItIsOurs = ({ headers }: FastifyRequest): boolean =>
  headers.origin !== undefined || headers['sec-fetch-site'] === 'same-origin'

/** On whose behalf a browser sends the request when that is not our own page; null when it does not say whose. */
function foreignOrigin(request: FastifyRequest, allowed: readonly string[]): string | null | undefined {
  const { headers, protocol, host } = request
  const { origin } = headers
  const site = headers['sec-fetch-site']
  if (site === 'same-origin') return undefined
  if (origin === undefined) return site === undefined || site === 'none' ? undefined : null
  if (allowed.includes(origin)) return undefined
  const isOurs = (site === undefined || site === 'none') && origin === `${protocol}://${host.toLowerCase()}`
  return isOurs ? undefined : origin
}

function refusalOf(origin: string | null): Refusal {
  const shown = origin?.slice(0, MAX_SHOWN_CHARACTERS)
  if (shown === undefined || shown === 'null')
    return new Refusal(
      'foreign_origin',
      'This request comes from a page of another site, and such pages cannot change anything in Belfry. Use the dashboard or call the API directly.',
    )
  return new Refusal(
    'foreign_origin',
    `This request comes from a page of ${shown}, and pages of other sites cannot change anything in Belfry. ` +
      `If people use Belfry at this address, start it with --public-url ${shown}. If it is another site of yours, use --allowed-origins ${shown}.`,
  )
}
