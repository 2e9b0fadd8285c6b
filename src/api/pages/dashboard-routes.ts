/**
 * The dashboard. Its pages share one HTML document, which reads the address and draws itself; all it shows it
 * asks of /v1 like any other client. Some addresses are pages for people and data for programs: whoever says
 * that it wants HTML, as browsers do, gets the page.
 */
import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../core/errors.ts'
import type { App } from '../app.ts'
import { pathOf } from '../http/errors.ts'
import type { DashboardFile, DashboardFiles, Encoding } from './dashboard-files.ts'

/** The build writes this where the nonce of each answer belongs. */
const NONCE_MARK = '__CSP_NONCE__'
const NONCE_BYTES = 18
/** Names of assets hold a hash of their content, so what was fetched once is right for ever. */
const FOR_EVER = 'public, max-age=31536000, immutable'
/** Pages of the dashboard, each with whatever lies below it. */
const PAGES =
  /^\/(?:$|(?:tasks|runs|dead-letters|files|queues|targets|nodes|audit-log|settings|sign-in)(?:\/|$))/

/** What is for programs alone. */
const DATA = /^\/(?:v1|assets)(?:\/|$)/

/** A browser at an address that nothing is at is shown so by the dashboard, with the ways on from there. */
export const pageInstead = (
  request: FastifyRequest,
  reply: FastifyReply,
  files: DashboardFiles | null,
): FastifyReply | null =>
  files && isReading(request) && wantsHtml(request) && !DATA.test(pathOf(request))
    ? sendPage(reply.code(404), files)
    : null

/** Whoever asks for HTML where a page is gets it, with or without a key: what it shows it asks for itself. */
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

/** Everything comes from this server, scripts only as files; the nonce is for style elements that the kit writes. */
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
