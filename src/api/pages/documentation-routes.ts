/** The documentation of the API: for programs at /openapi.json, for people at /docs. Nothing is loaded from other servers. */
import { createHash } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import type { App } from '../app.ts'

/**
 * The page may load from this server only. Its set-up is an inline script, which is allowed by its hash. The style elements
 * that it creates change with its versions, so their hashes are not known and inline styles are allowed.
 */
const policyFor = (page: string) =>
  [
    "default-src 'none'",
    `script-src 'self' ${inlineScripts(page).map(hashSource).join(' ')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "worker-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

const inlineScripts = (page: string) =>
  [...page.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)].map(([, script = '']) => script)

const hashSource = (script: string) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`

/** Disables everything in the page that would contact other servers. */
const PAGE = {
  pageTitle: 'Belfry API',
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  telemetry: false,
  proxyUrl: '',
  agent: { disabled: true },
} as const

/** The paths that the page consists of. */
const PATHS = ['/docs', '/docs/', '/docs/openapi.json', '/docs/openapi.yaml', '/docs/js/scalar.js']

/** Only these headers are taken from the pages: other code decides who may read them, and how long connections stay open. */
const OWN_HEADERS = ['content-type', 'content-disposition', 'location', 'cache-control', 'etag']

export async function documentationRoutes(app: App): Promise<void> {
  app.get('/openapi.json', { schema: { hide: true }, config: { access: 'public' } }, async (_, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(app.swagger()),
  )
  let pages: ReturnType<typeof referencePages> | undefined
  for (const path of PATHS)
    app.get(path, { schema: { hide: true }, config: { access: 'public' } }, async (request, reply) => {
      pages ??= referencePages(app)
      const { statusCode, headers, rawPayload } = await (await pages).inject({
        url: request.url,
        headers: { host: request.host },
      })
      reply.code(statusCode)
      for (const name of OWN_HEADERS) if (headers[name] !== undefined) reply.header(name, headers[name])
      if (isHtml(reply)) reply.header('content-security-policy', policyFor(rawPayload.toString()))
      return reply.send(rawPayload)
    })
}

/** Created at the first request: the page's script has three megabytes, and most nodes never serve it. */
async function referencePages(app: App): Promise<FastifyInstance> {
  const { default: reference } = await import('@scalar/fastify-api-reference')
  const pages = Fastify()
  const configuration = { ...PAGE, content: () => app.swagger() }
  await pages.register(reference, { routePrefix: '/docs', configuration })
  return pages
}

const isHtml = (reply: FastifyReply) => String(reply.getHeader('content-type')).startsWith('text/html')
