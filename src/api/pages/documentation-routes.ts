/** The API described: for programs at /openapi.json, for people at /docs. Nothing is loaded from elsewhere. */
import type { App } from '../app.ts'

/** The page may load from this server and nowhere else; its own set-up is an inline script. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

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
  app.get('/openapi.json', { schema: { hide: true } }, async (_, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(app.swagger()),
  )
  const { default: reference } = await import('@scalar/fastify-api-reference')
  await app.register(async (scope) => {
    scope.addHook('onSend', async (_, reply) => {
      reply.header('content-security-policy', CONTENT_SECURITY_POLICY)
    })
    await scope.register(reference, { routePrefix: '/docs', configuration: PAGE })
  })
}
