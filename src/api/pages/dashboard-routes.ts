/**
 * The dashboard. Its pages share one HTML document, which renders the page for the path; it fetches its data from /v1 like any
 * other client. Some paths serve a page to people and data to programs: a client that accepts HTML, as browsers do, gets the
 * page.
 */
import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../core/errors.ts'
import type { App } from '../app.ts'
import { pathOf } from '../http/errors.ts'
import type { DashboardFile, DashboardFiles, Encoding } from './dashboard-files.ts'

/** The mark that the build puts in place of the nonce of each response. */
const NONCE_MARK = '__CSP_NONCE__'
const NONCE_BYTES = 18
/** The names of assets contain a hash of their content, so a cached asset never becomes outdated. */
const FOR_EVER = 'public, max-age=31536000, immutable'
/** Pages of the dashboard, each with all paths below it. */
const PAGES =
  /^\/(?:$|(?:tasks|runs|dead-letters|files|queues|targets|nodes|audit-log|settings|sign-in)(?:\/|$))/

/** Paths that never serve a page. */
const DATA = /^\/(?:v1|assets)(?:\/|$)/

/** For an unknown path, the dashboard shows browsers an error page with links. */
export const pageInstead = (
  request: FastifyRequest,
  reply: FastifyReply,
  files: DashboardFiles | null,
): FastifyReply | null =>
  files && isReading(request) && wantsHtml(request) && !DATA.test(pathOf(request))
    ? sendPage(reply.code(404), files)
    : null

/** Serves the dashboard's HTML without authentication: the page fetches its data through the API, which does authenticate. */
export function showPages(app: App, files: DashboardFiles | null): void {
  app.addHook('onRequest', async (request, reply) => {
    if (files && isReading(request) && PAGES.test(pathOf(request)) && wantsHtml(request))
      return sendPage(reply, files)
  })
}

export function dashboardRoutes(app: App, files: DashboardFiles | null): void {
  app.get('/', { schema: { hide: true }, config: { access: 'public' } }, async (_, reply) => {
    if (files) return sendPage(reply, files)
    throw new Refusal(
      'not_found',
      'The dashboard is not built. Run npm run build to build it. The API reference is at /docs.',
    )
  })

  app.get<{ Params: { name: string } }>(
    '/assets/:name',
    { schema: { hide: true }, config: { access: 'public' } },
    async (request, reply) => {
      const file = files?.assets.get(request.params.name)
      if (!file) throw new Refusal('not_found', `The dashboard file ${pathOf(request)} does not exist.`)
      return sendAsset(request, reply, file)
    },
  )
}

const isReading = ({ method }: FastifyRequest) => method === 'GET' || method === 'HEAD'

const wantsHtml = ({ headers }: FastifyRequest) => /\btext\/html\b/.test(headers.accept ?? '')

function sendPage(reply: FastifyReply, { page }: DashboardFiles): FastifyReply {
  const nonce = randomBytes(NONCE_BYTES).toString('base64')
  return reply
    .header('content-type', 'text/html; charset=utf-8')
    .header('cache-control', 'no-cache')
    .header('vary', 'accept')
    .header('content-security-policy', contentSecurityPolicy(nonce))
    .serializer((body) => body as string)
    .send(page.replaceAll(NONCE_MARK, nonce))
}

/** Everything is loaded from this server, scripts only as files; the nonce is for style elements that the UI library creates. */
function contentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

function sendAsset(request: FastifyRequest, reply: FastifyReply, file: DashboardFile): FastifyReply {
  const accepted = request.headers['accept-encoding'] ?? ''
  const encoding = (['br', 'gzip'] satisfies Encoding[]).find(
    (name) => file.encoded[name] && new RegExp(`\\b${name}\\b`).test(accepted),
  )
  reply.header('content-type', file.type).header('cache-control', FOR_EVER).header('vary', 'accept-encoding')
  if (encoding === undefined) return reply.send(file.plain)
  return reply.header('content-encoding', encoding).send(file.encoded[encoding])
}
