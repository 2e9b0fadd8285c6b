/** The API described: for programs at /openapi.json, for people at /docs. Nothing is loaded from elsewhere. */
import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
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

/** What the page comes with says that every site may read it; that is decided elsewhere. */
const OTHERS_PERMISSIONS = ['access-control-allow-origin', 'access-control-allow-methods']

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

export async function documentationRoutes(app: App): Promise<void> {
  app.get('/openapi.json', { schema: { hide: true }, config: { access: 'public' } }, async (_, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(app.swagger()),
  )
  const { default: reference } = await import('@scalar/fastify-api-reference')
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'public' }
    })
    scope.addHook('onSend', async (request, reply, payload) => {
      for (const name of OTHERS_PERMISSIONS) reply.removeHeader(name)
      const permission = request.browserRules['access-control-allow-origin']
      if (permission !== undefined) reply.header('access-control-allow-origin', permission)
      if (typeof payload === 'string' && isHtml(reply))
        reply.header('content-security-policy', policyFor(payload))
      return payload
    })
    await scope.register(reference, { routePrefix: '/docs', configuration: PAGE })
  })
}

const isHtml = (reply: FastifyReply) => String(reply.getHeader('content-type')).startsWith('text/html')
