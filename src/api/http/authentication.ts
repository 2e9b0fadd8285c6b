/**
 * Authenticates and authorizes requests. Both happen from the head of the request alone, before its body is read and before
 * anything is read for the caller. If the body takes a while to arrive, both happen again before the request is handled. Every
 * route declares the access that it needs, next to its schema:
 *
 * app.get('/v1/tasks', { schema: list, config: { access: 'read' } }, …)
 *
 * A route that declares none keeps the server from starting.
 *
 * An authenticator handles credentials of one kind that a principal sends to any route. The authenticators are tried in order,
 * and the first that finds a credential of its kind decides: it returns a principal, or rejects an invalid credential with
 * `unauthenticated`. To accept another such kind, add an authenticator. Credentials without a principal are good for certain
 * routes only, which declare them: signed addresses (signed-addresses.ts), and tokens of workers and attempts (worker-tokens.ts).
 */
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { type Access, EVERYTHING, type GrantedAccess, NOTHING, UNLIMITED } from '../../core/access/role.ts'
import type { SignedClaims } from '../../core/access/signed-claims.ts'
import type { TokenAttempt } from '../../core/access/token-attempt.ts'
import { Refusal } from '../../core/errors.ts'
import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'
import type { Principal } from '../../operations/access/principal.ts'
import { requireAccess, requireAllQueues } from '../../operations/access/require.ts'
import { type Call, type Context, contextOf, type Facilities } from '../../operations/context.ts'
import type { KeyBook } from '../../operations/keys/key-book.ts'
import type { ProjectBook } from '../../operations/projects/project-book.ts'
import type { RemoteWorker, RemoteWorkers } from '../../transport/remote-workers.ts'
import type { WakeUps } from '../../transport/wake-ups.ts'
import type { App } from '../app.ts'
import { projectFor, refuseArchived } from './named-project.ts'
import { onceClosed } from './once-closed.ts'
import { reasonOf } from './reason.ts'
import { anonymous, isForwarded } from './request.ts'
import { signedCall, signedOf } from './signed-addresses.ts'
import { workerCall, workerOf } from './worker-tokens.ts'

/** Finds credentials of one kind; returns null if the request has none of this kind. */
export type Authenticator = (request: FastifyRequest) => Principal | null | Promise<Principal | null>

/** A route and the access that it needs. */
export interface AccessedRoute {
  readonly method: string
  readonly url: string
  readonly access: Access
  /** Whether keys that are limited to queues may call it although it changes something. */
  readonly isOfQueue: boolean
}

/** The sender of a request; the project is null if the request concerns none, or none that the sender can see. */
export interface KnownCaller extends Pick<Principal, 'actor' | 'reach'> {
  readonly projectId: string | null
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The access that the caller needs. */
    access?: Access
    /** The parameter `name` of the path names the project, instead of a header. */
    isProjectInPath?: boolean
    /** The query parameter `project` may name the project too: browsers cannot send custom headers when they open a stream. */
    isProjectInQuery?: boolean
    /** An address signed for this purpose needs no other credential. */
    signedFor?: string
    /** The token of a single attempt is good enough: the request may then be about that attempt alone. Only with the access `token`. */
    isByAttempt?: boolean
    /**
     * The request may last, so it is ended when the caller's credential ends: a stream of events; one that is a stream only if
     * the client asks for events; a worker that waits for runs; or bytes that are sent as fast as the client reads them.
     */
    lasting?: 'stream' | 'stream_if_asked' | 'wait' | 'transfer'
    /**
     * The request changes tasks, runs or workers of one queue, and its operation rejects keys limited to other queues; or it
     * adds something that no task uses yet. All other changes are rejected for keys that are limited to queues.
     */
    isOfQueue?: boolean
  }

  interface FastifyInstance {
    /** Every route, and the access that its caller needs. */
    accessTable: AccessedRoute[]
  }

  interface FastifyRequest {
    /** The context for the operations of the request. */
    context: Context
    /** When its sender was authenticated, on the clock of `performance`. */
    authenticatedAt: number
    /** The sender of the request and its project, as far as they are known, also if the request is rejected. */
    caller: KnownCaller | null
    /** The claims signed in the address of the request; null if its sender has used another credential. */
    signed: SignedClaims | null
    /** The worker that sent the request; null on routes with an access other than `token`. */
    worker: RemoteWorker | null
    /** The attempt whose token the request has; null if it has another one. */
    attempt: TokenAttempt | null
  }
}

export interface AuthenticationOptions {
  readonly facilities: Facilities
  readonly keys: KeyBook
  readonly projects: ProjectBook
  readonly authenticators: readonly Authenticator[]
  readonly remoteWorkers: Pick<RemoteWorkers, 'authenticate' | 'find'>
  /** Counts a request towards the limits of its sender, and rejects it if one is used up. */
  readonly count: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
}

/**
 * How long the result of authentication is used. Credentials are cached for a second before that, so this leaves half a second
 * of the two within which a revocation applies.
 */
const AUTHENTICATED_MS = 500

/** Must be called before the routes are registered, because it inspects each of them. */
export function authenticateRequests(app: App, options: AuthenticationOptions): void {
  requireDeclarations(app)
  app.decorateRequest('context')
  app.decorateRequest('authenticatedAt', 0)
  app.decorateRequest('worker', null)
  app.decorateRequest('attempt', null)
  app.decorateRequest('caller', null)
  app.decorateRequest('signed', null)
  const authenticate = async (request: FastifyRequest, reply: FastifyReply) => {
    const access = request.is404 ? 'public' : configOf(request).access
    if (access === undefined) throw new Error(`${request.url} declares no access`)
    request.authenticatedAt = performance.now()
    const call = await callFor(request, reply, access, options)
    request.context = contextOf(options.facilities, {
      ...call,
      request: { id: request.id, reason: reasonOf(request) },
    })
  }
  app.addHook('onRequest', async (request, reply) => {
    try {
      await authenticate(request, reply)
    } finally {
      // Rejected requests count too, or a key could send any number of them.
      await options.count(request, reply)
    }
  })
  authenticateAgain(app, { authenticate, wakeUps: options.facilities.wakeUps })
}

/**
 * Authenticates again, before it is handled, a request whose body arrived late or while access was being changed: otherwise its
 * sender could begin many changes and finish them after a revocation. Lasting requests are ended instead.
 */
function authenticateAgain(
  app: App,
  {
    authenticate,
    wakeUps,
  }: {
    readonly authenticate: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
    readonly wakeUps: WakeUps
  },
): void {
  let changedAt = Number.NEGATIVE_INFINITY
  wakeUps.onAccess(() => {
    changedAt = performance.now()
  })
  app.addHook('preHandler', (request, reply, done) => {
    const { authenticatedAt } = request
    const isCurrent = authenticatedAt > changedAt && performance.now() - authenticatedAt < AUTHENTICATED_MS
    if (isCurrent || configOf(request).lasting !== undefined) done()
    else authenticate(request, reply).then(() => done(), done)
  })
}

/** Returns the call, authorized for the access of the route. A lasting request is ended with the credential. */
async function callFor(
  request: FastifyRequest,
  reply: FastifyReply,
  access: Access,
  options: AuthenticationOptions,
): Promise<Call> {
  if (access === 'public') return publicCall(request)
  const isLong = configOf(request).lasting !== undefined
  const endWithKey = (keyId: string | null) => {
    if (isLong) cutOff(reply, (end) => options.keys.onEnd(keyId, end))
  }
  if (access === 'token') {
    const worker = await workerOf(request, options)
    endWithKey(worker.keyId)
    request.worker = worker
    return workerCall(worker, request)
  }
  const signed = await signedOf(request, options)
  if (signed) {
    const call = await signedCall(signed, request, access, options)
    if (signed.isOpen) endWithKey(null)
    else if (signed.keyId != null) endWithKey(signed.keyId)
    return call
  }
  const principal = await principalOf(request, options)
  request.caller = { actor: principal.actor, reach: principal.reach, projectId: null }
  if (access === 'self') return selfCall(principal)
  if (isLong && principal.onEnd) cutOff(reply, principal.onEnd)
  return callOf(principal, request, access, options.projects)
}

const configOf = (request: FastifyRequest) => request.routeOptions.config

/** Lists the routes, and fails the start if one of them declares no access. */
function requireDeclarations(app: App): void {
  const declared: RouteOptions[] = []
  app.addHook('onRoute', (route) => void declared.push(route))
  app.decorate('accessTable', [] as AccessedRoute[])
  app.addHook('onReady', async () => {
    for (const { method, url, config } of declared) {
      if (config?.access === undefined)
        throw new Error(`the route ${String(method)} ${url} declares no access`)
      for (const one of [method].flat()) {
        const { access, isOfQueue = false } = config
        app.accessTable.push({ method: one, url, access, isOfQueue })
      }
    }
  })
}

async function principalOf(
  request: FastifyRequest,
  { authenticators, keys }: AuthenticationOptions,
): Promise<Principal> {
  for (const authenticate of authenticators) {
    const principal = await authenticate(request)
    if (principal) return principal
  }
  if (await keys.isOpen()) {
    if (!isForwarded(request)) return openPrincipal(request, keys)
    throw new Refusal(
      'unauthenticated',
      'This server has no API key yet, so it accepts only requests from its own machine, and this one came through a proxy. On that machine, create the first key: belfry key create --role admin',
    )
  }
  throw new Refusal('unauthenticated', 'Send an API key in the header Authorization: Bearer <key>.')
}

const openPrincipal = (request: FastifyRequest, keys: KeyBook): Principal => ({
  actor: anonymous(request),
  grant: EVERYTHING,
  homeProjectId: null,
  reach: UNLIMITED,
  onEnd: (listener) => keys.onEnd(null, listener),
})

const publicCall = (request: FastifyRequest): Call => ({
  projectId: DEFAULT_PROJECT_ID,
  actor: anonymous(request),
  grant: NOTHING,
  reach: UNLIMITED,
})

/** Returns the call of a principal that asks who it is, which needs no role in any project. */
const selfCall = ({ actor, grant, homeProjectId, reach }: Principal): Call => ({
  projectId: homeProjectId ?? DEFAULT_PROJECT_ID,
  actor,
  grant,
  reach,
})

/** Returns the call of a principal, in the project that it names or belongs to, if it has access. */
async function callOf(
  { actor, grant, homeProjectId, reach }: Principal,
  request: FastifyRequest,
  access: GrantedAccess,
  projects: ProjectBook,
): Promise<Call> {
  const project = await projectFor({ grant, homeProjectId }, request, projects)
  request.caller = { actor, reach, projectId: project.id }
  requireAccess({ grant, projectId: project.id }, access)
  if (access === 'work' && actor.kind === 'person') throw workersNeedKeys()
  refuseArchived(project, access)
  if (changesMore(request, access)) requireAllQueues({ reach })
  return { projectId: project.id, actor, grant, reach }
}

/** The token of a worker is good for as long as the key that it registered with, and a person has none. */
const workersNeedKeys = () =>
  new Refusal(
    'forbidden',
    'Workers register with an API key, not with the session of a person. Create a key with the role worker.',
  )

/** Returns whether a request changes anything outside a single queue. */
const changesMore = (request: FastifyRequest, access: GrantedAccess): boolean =>
  access !== 'read' && request.method !== 'GET' && request.method !== 'HEAD' && !configOf(request).isOfQueue

/** Ends the response when the credential ends. Another request is then rejected. */
function cutOff({ raw }: FastifyReply, onEnd: (end: () => void) => () => void): void {
  onceClosed(
    raw,
    onEnd(() => raw.destroy()),
  )
}
