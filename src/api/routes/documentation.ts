/** The API described: for programs at /openapi.json, for people at /docs. Nothing is loaded from elsewhere. */
import type { App } from '../app.ts'

export async function documentationRoutes(app: App): Promise<void> {
  app.get('/openapi.json', { schema: { hide: true } }, async (_, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(app.swagger()),
  )
  const { default: reference } = await import('@scalar/fastify-api-reference')
  await app.register(reference, {
    routePrefix: '/docs',
    configuration: { url: '/openapi.json', withDefaultFonts: false },
  })
}
