/**
 * Security headers of every response: browsers must not guess its type, show it inside other pages, run anything in it, or tell
 * other sites about it. Pages for people relax the policy for themselves. cross-origin.ts decides which sites may read
 * responses.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Headers for browsers that the response has, whichever code sends it. */
    browserRules: Readonly<Record<string, string>>
  }
}

/** Headers of every response, including those to requests that could not be parsed. */
export const BROWSER_RULES: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

/** A browser that has connected by TLS once uses nothing else for a year. */
const STRICT_TRANSPORT = { 'strict-transport-security': 'max-age=31536000' }

/**
 * Sets the headers. `isStrict` is for a server that serves TLS itself and is reached by its own name: for `localhost`, the
 * rule would apply to every other server there.
 */
export function ruleBrowsers(app: App, { isStrict }: { isStrict: boolean }): void {
  const rules = isStrict ? { ...BROWSER_RULES, ...STRICT_TRANSPORT } : BROWSER_RULES
  app.decorateRequest('browserRules')
  app.addHook('onRequest', async (request) => {
    request.browserRules = rules
  })
}

/** Sets the headers of every response. Responses must not be cached, because their data may change at any moment. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  for (const [name, value] of Object.entries(request.browserRules ?? BROWSER_RULES))
    if (!reply.hasHeader(name)) reply.header(name, value)
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
}
