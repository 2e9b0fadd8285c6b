/** Rejects the least important requests first while the database is slow, long before it is too slow for all. */
import type { FastifyReply, FastifyRequest, onSendHookHandler, RouteHandlerMethod } from 'fastify'
import { Refusal } from '../../../core/errors.ts'
import type { App } from '../../app.ts'
import type { DatabaseLoad } from './database-load.ts'
import { type Importance, importanceOf } from './importance.ts'
import { enterAll, leaveAll, Places } from './places.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The importance of requests, if the method and the path of a route do not determine it. */
    importance?: Importance
  }
}

/**
 * The shares of the connections that requests which only read can use at once, and that lists, which are among them, can use.
 * So the rest is always free for changes, and lists leave some for other requests that read.
 */
const READ_SHARE = 0.8
const BROWSE_SHARE = 0.5
/** Maximum number of requests of a kind that wait for a place. */
const MAX_WAITING = 1_000
/** Maximum wait as a multiple of the latency at which the database counts as slow. */
const WAIT_TIMES = 2
const RETRY_AFTER_SECONDS = 2

/** How many connections requests have, and what counts as slow. */
export interface LoadLimits {
  /** Number of requests that can use the database at once. */
  readonly connections: number
  readonly slowMs: number
}

/** Must be called before the routes are registered, because it inspects each of them. */
export function shedLoad(app: App, load: DatabaseLoad, { connections, slowMs }: LoadLimits): void {
  const limits = { maxWaiting: MAX_WAITING, maxWaitMs: WAIT_TIMES * slowMs }
  const placesFor = (share: number) =>
    new Places({ count: Math.max(1, Math.floor(share * connections)), ...limits })
  const reading = placesFor(READ_SHARE)
  const placesOf: Partial<Record<Importance, readonly Places[]>> = {
    browse: [placesFor(BROWSE_SHARE), reading],
    read: [reading],
  }
  const refusal = (importance: Importance) => {
    load.count(importance)
    return tooSlow(importance)
  }
  const known = new WeakSet<RouteHandlerMethod>()
  app.addHook('onRoute', (route) => {
    const importance = importanceOf({ ...route, method: String(route.method) })
    if (importance === 'vital') return
    const check = async () => {
      if (load.isRefused(importance)) throw refusal(importance)
    }
    route.onRequest = [check, ...[route.onRequest ?? []].flat()]
    const own = placesOf[importance]
    // Fastify derives the HEAD route from the GET route.
    if (own === undefined || known.has(route.handler)) return
    route.handler = within(own, route.handler, () => refusal(importance))
    route.onSend = [leaveOnSend, ...[route.onSend ?? []].flat()]
    known.add(route.handler)
  })
  app.addHook('onClose', async () => load.stop())
}

/** Releases the place of each reply that has one. */
const leaving = new WeakMap<FastifyReply, () => void>()

/**
 * Runs the handler while holding the places. They are returned as soon as the response is complete or turns out to be a
 * stream: the time it takes to send depends on the client.
 */
function within(
  places: readonly Places[],
  handler: RouteHandlerMethod,
  refusal: () => Refusal,
): RouteHandlerMethod {
  return async function (this: App, request: FastifyRequest, reply: FastifyReply) {
    if (!(await enterAll(places))) throw refusal()
    let hasLeft = false
    const leave = () => {
      if (!hasLeft) leaveAll(places)
      hasLeft = true
    }
    leaving.set(reply, leave)
    const { hijack } = reply
    reply.hijack = () => {
      leave()
      return hijack.call(reply)
    }
    try {
      return await handler.call(this, request, reply)
    } finally {
      leave()
    }
  } as RouteHandlerMethod
}

const leaveOnSend: onSendHookHandler = (_, reply, payload, done) => {
  leaving.get(reply)?.()
  done(null, payload)
}

const KINDS: Record<Importance, string> = {
  browse: 'lists, statistics and streams',
  read: 'requests that read data',
  change: 'all requests but those of workers',
  vital: 'no requests',
}

const tooSlow = (importance: Importance) =>
  new Refusal(
    'database_slow',
    `The database is slow, and this node refuses ${KINDS[importance]} so that other requests still succeed. Nothing was stored. Try again later.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  )
