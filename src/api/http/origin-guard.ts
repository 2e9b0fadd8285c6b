import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../core/errors.ts'
import type { App } from '../app.ts'
import { bearerOf } from './request.ts'
import { cookieOf } from './session-cookie.ts'

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const MAX_SHOWN_CHARACTERS = 200

/**
 * Protects against cross-site requests. Any page in a browser can make it send requests here, some without a preflight request:
 * a form, or a fetch without a body. Browsers state which site they act for; a change is rejected if that is another site.
 * Programs that are not browsers state nothing, and are admitted. Reads are admitted as well: only sites that the operator has
 * named can read the response. Scheme and host are those that the browser used, as far as a trusted proxy reports them.
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

/** What distinguishes Belfry's own pages from others. */
export interface OriginRules {
  /** Other sites whose pages may make changes, with an API key: sessions are accepted from Belfry's own pages only. */
  readonly allowedOrigins: readonly string[]
  /** The address of Belfry's own pages, in addition to the one that a request was sent to. */
  readonly publicUrl: string | null
}

/** A browser sends a cookie whichever page makes the request; a page must know a key to send it. */
const actsBySession = (request: FastifyRequest, publicUrl: string | null): boolean =>
  bearerOf(request) === null && cookieOf(request, 'belfry', publicUrl) !== null

/**
 * A request with neither header is not from a browser, or from one that hides its origin: neither may use a session.
 * `foreignOrigin` has already checked the value of the headers.
 */
const saysItIsOurs = ({ headers }: FastifyRequest): boolean =>
  headers.origin !== undefined || headers['sec-fetch-site'] === 'same-origin'

/**
 * Returns the foreign origin for which a browser sends the request; null if the browser does not name it; undefined if the
 * request is not from a foreign page.
 */
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
