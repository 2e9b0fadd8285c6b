/** The API described: for programs at /openapi.json, for people at /docs. Nothing is loaded from elsewhere. */
import { createHash } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import type { App } from '../app.ts'

/**
 * The page may load from this server and nowhere else. Its set-up is an inline script, which is known by its hash. The
 * style elements that it writes change with its versions and cannot be known, so styles may be inline.
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

/** Everything in the page that would talk to somebody else is switched off. */
const PAGE = {
  pageTitle: 'Belfry API',
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  telemetry: false,
  proxyUrl: '',
  agent: { disabled: true },
} as const

/** What the page consists of. */
const PATHS = ['/docs', '/docs/', '/docs/openapi.json', '/docs/openapi.yaml', '/docs/js/scalar.js']

/** Others decide who may read the pages, and how long connections stay open. */
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

/** Made when somebody asks for them: their program is three megabytes, and most nodes are never asked. */
async function referencePages(app: App): Promise<FastifyInstance> {
  const { default: reference } = await import('@scalar/fastify-api-reference')
  const pages = Fastify()
  const configuration = { ...PAGE, content: () => app.swagger() }
  await pages.register(reference, { routePrefix: '/docs', configuration })
  return pages
}

const isHtml = (reply: FastifyReply) => String(reply.getHeader('content-type')).startsWith('text/html')
