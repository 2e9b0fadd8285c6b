/**
 * What every answer tells browsers: not to guess at its type, not to show it inside other pages, not to run anything in
 * it, and not to tell other sites about it. Pages that people look at loosen the policy for themselves. Which sites may
 * read answers is decided beside (cross-origin.ts).
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Headers for browsers that the answer carries, whoever sends it. */
    browserRules: Readonly<Record<string, string>>
  }
}

/** What holds for each answer, also for one to a request that could not be read. */
export const BROWSER_RULES: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

/** A browser that was here once by TLS does not come without it for a year. */
const STRICT_TRANSPORT = { 'strict-transport-security': 'max-age=31536000' }

/**
 * `isStrict` for a server that speaks TLS itself and is reached under a name of its own: what a browser learns
 * about `localhost` would hold for every other server there.
 */
export function ruleBrowsers(app: App, { isStrict }: { isStrict: boolean }): void {
  const rules = isStrict ? { ...BROWSER_RULES, ...STRICT_TRANSPORT } : BROWSER_RULES
  app.decorateRequest('browserRules')
  app.addHook('onRequest', async (request) => {
    request.browserRules = rules
  })
}

/** What every answer carries. Nothing that comes from the tables is kept: it may be otherwise a moment later. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  for (const [name, value] of Object.entries(request.browserRules ?? BROWSER_RULES))
    if (!reply.hasHeader(name)) reply.header(name, value)
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
}
