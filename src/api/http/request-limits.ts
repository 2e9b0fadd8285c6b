/**
 * Enforces the request rates of projects and keys, before bodies are read. Responses report the remaining quota in the fields
 * of draft-ietf-httpapi-ratelimit-headers. Requests that are rejected count as soon as their sender is known. Not counted are
 * requests of workers, signed addresses, public routes, and requests of admins to the routes that read and change the limits.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { allows } from '../../core/access/role.ts'
import { Refusal } from '../../core/errors.ts'
import type {
  QuotaDecision,
  QuotaState,
  QuotaSubject,
  RequestQuotas,
} from '../../operations/limits/request-quotas.ts'
import type { ProjectBook } from '../../operations/projects/project-book.ts'
import type { App } from '../app.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Requests of admins do not count towards the rates of their project and their key. */
    isUncounted?: boolean
  }
}

/** Returns what counts a request that was authenticated, whether it was then rejected or not. */
export function requestCounter(
  app: App,
  { quotas, projects }: { readonly quotas: RequestQuotas; readonly projects: ProjectBook },
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  app.addHook('onReady', async () => quotas.start())
  app.addHook('onClose', async () => quotas.stop())
  return async (request, reply) => {
    const { caller } = request
    if (caller === null || !isCounted(request)) return
    const { projectId, actor, reach } = caller
    const project = projectId === null ? null : await projects.withId(projectId)
    const keyRate = actor.kind === 'key' ? reach.limits?.requestRate : null
    const subjects: QuotaSubject[] = []
    if (actor.kind === 'key' && keyRate) subjects.push({ kind: 'key', id: actor.id, rate: keyRate })
    if (project?.requestRate) subjects.push({ kind: 'project', id: project.id, rate: project.requestRate })
    if (subjects.length > 0) tell(reply, await quotas.take(subjects))
  }
}

function isCounted({ signed, context, routeOptions }: FastifyRequest): boolean {
  if (signed !== null) return false
  const { access, isUncounted } = routeOptions.config
  const isRejected = context === undefined
  if (isRejected) return true
  return access !== 'work' && !(isUncounted && allows(context.grant, context.projectId, 'administer'))
}

function tell(reply: FastifyReply, { refusedBy, states }: QuotaDecision): void {
  reply.header('ratelimit-policy', states.map(policyOf).join(', '))
  reply.header('ratelimit', states.map(stateOf).join(', '))
  if (refusedBy) throw rateLimited(refusedBy, states)
}

const policyOf = ({ kind, policy }: QuotaState) => `"${kind}";q=${policy.burst};w=${policy.windowSeconds}`

/** `r` is the remaining quota, `t` the seconds until there is more: 0 if some remains. */
const stateOf = ({ kind, remaining, opensInMs }: QuotaState) =>
  `"${kind}";r=${remaining};t=${Math.ceil(opensInMs / 1_000)}`

const OWNERS = { project: 'The project', key: 'This API key' } as const
const ADMINS = { project: 'an admin of the installation', key: 'an admin of the project' } as const

function rateLimited({ kind, rate }: QuotaSubject, states: readonly QuotaState[]): Refusal {
  const opensInMs = Math.max(...states.filter((state) => state.kind === kind).map((state) => state.opensInMs))
  return new Refusal(
    'rate_limited',
    `${OWNERS[kind]} has used up its limit of ${rate} requests (limits.requestRate). Send fewer requests, or ask ${ADMINS[kind]} to raise the limit.`,
    {
      extra: { limit: { requestRate: rate }, limitOf: kind },
      retryAfterSeconds: Math.max(1, Math.ceil(opensInMs / 1_000)),
    },
  )
}
