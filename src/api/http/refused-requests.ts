/** Notes requests that are rejected because of their sender, for the audit log. */
import type { FastifyRequest } from 'fastify'
import { INSTALLATION_ID } from '../../core/audit-log/audit-entry.ts'
import { Refusal, type RefusalCode } from '../../core/errors.ts'
import type { Caller } from '../../operations/audit-log/record-change.ts'
import type { RefusedRequest, RefusedRequests } from '../../operations/audit-log/refused-requests.ts'
import type { App } from '../app.ts'
import { pathOf } from './errors.ts'

const RECORDED: { readonly [C in RefusalCode]?: RefusedRequest['action'] } = {
  unauthenticated: 'authentication.failed',
  unknown_token: 'authentication.failed',
  invalid_signature: 'authentication.failed',
  forbidden: 'permission.refused',
  foreign_origin: 'permission.refused',
}

export function noteRefusedRequests(app: App, refusedRequests: Pick<RefusedRequests, 'note'>): void {
  app.addHook('onError', async (request, _, error) => {
    const action = error instanceof Refusal ? actionFor(error.code, request) : undefined
    if (!(error instanceof Refusal) || action === undefined) return
    const route = `${request.method} ${request.routeOptions.url ?? pathOf(request)}`
    refusedRequests.note({ action, caller: callerOf(request, action), route, code: error.code })
  })
}

/** A key that is rejected at the sign-in route counts as a failed sign-in. */
const actionFor = (
  code: RefusalCode,
  { routeOptions }: FastifyRequest,
): RefusedRequest['action'] | undefined =>
  code === 'unauthenticated' && routeOptions.url === '/auth/sign-in' ? 'signin.failed' : RECORDED[code]

/** Returns the sender of the request, as far as it was known before the request was rejected. */
function callerOf({ id, ip, caller, context }: FastifyRequest, action: RefusedRequest['action']): Caller {
  const known = context ?? caller
  return {
    projectId: action === 'signin.failed' ? INSTALLATION_ID : (known?.projectId ?? INSTALLATION_ID),
    actor: known?.actor ?? { kind: 'anonymous', address: ip ?? null },
    request: { id, reason: null },
  }
}
