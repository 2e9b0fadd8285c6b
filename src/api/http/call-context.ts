/** Gives each request the context of its call: which project, and who acts. */
import type { FastifyRequest } from 'fastify'
import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'
import { type Call, type Context, contextOf, type Facilities } from '../../operations/context.ts'
import type { App } from '../app.ts'
import { reasonOf } from './reason.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What the operations that the request asks for work with. */
    context: Context
  }
}

export function giveContext(app: App, facilities: Facilities): void {
  app.decorateRequest('context')
  app.addHook('onRequest', async (request) => {
    request.context = contextOf(facilities, callOf(request))
  })
}

/** There is one project, and callers are known by their address. */
const callOf = (request: FastifyRequest): Call => ({
  projectId: DEFAULT_PROJECT_ID,
  actor: { kind: 'client', address: request.ip ?? null },
  request: { id: request.id, reason: reasonOf(request) },
})
