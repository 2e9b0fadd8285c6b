/** Refuses the least important requests first while the database is slow, long before it is too slow for all. */
import type { FastifyReply, FastifyRequest, onSendHookHandler, RouteHandlerMethod } from 'fastify'
import { Refusal } from '../../../core/errors.ts'
import type { App } from '../../app.ts'
import type { DatabaseLoad } from './database-load.ts'
import { type Importance, importanceOf } from './importance.ts'
import { Places } from './places.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How important requests are, where the method and the address of a route do not tell. */
    importance?: Importance
  }
}

/** The part of the connections that each kind may use at once. Changes find two that nothing else uses. */
const SHARES: Partial<Record<Importance, number>> = { browse: 0.5, read: 0.8 }
/** Requests of a kind that wait for a place. */
const MAX_WAITING = 1_000
/** How long they do, in times of what counts as slow. */
const WAIT_TIMES = 2
const RETRY_AFTER_SECONDS = 2

/** What requests have, and when they have to wait too long for it. */
export interface LoadLimits {
  /** How many requests can use the database at once. */
  readonly connections: number
  readonly slowMs: number
}

/** Must be called before the routes are registered: it looks at each of them. */
export function shedLoad(app: App, load: DatabaseLoad, { connections, slowMs }: LoadLimits): void {
  const limits = { maxWaiting: MAX_WAITING, maxWaitMs: WAIT_TIMES * slowMs }
  const places = Object.entries(SHARES).map(([importance, share]): [string, Places] => [
    importance,
    new Places({ count: Math.max(1, Math.floor(share * connections)), ...limits }),
  ])
  const placesOf = new Map(places)
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
    const own = placesOf.get(importance)
    // A route for HEAD is made of the one for GET.
    if (own === undefined || known.has(route.handler)) return
    route.handler = within(own, route.handler, () => refusal(importance))
    route.onSend = [leaveOnSend, ...[route.onSend ?? []].flat()]
    known.add(route.handler)
  })
  app.addHook('onClose', async () => load.stop())
}

/** How each reply that has a place gives it back. */
const leaving = new WeakMap<FastifyReply, () => void>()

/**
 * The handler, at a place. The place is given back as soon as the answer is made or turns out to be a stream: how long it
 * takes to send is the client's affair.
 */
function within(places: Places, handler: RouteHandlerMethod, refusal: () => Refusal): RouteHandlerMethod {
  return async function (this: App, request: FastifyRequest, reply: FastifyReply) {
    const entered = places.enter()
    if (entered !== true && !(await entered)) throw refusal()
    let hasLeft = false
    const leave = () => {
      if (!hasLeft) places.leave()
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
    `The database is slow, and this node refuses ${KINDS[importance]} so that others are still answered. Nothing was stored. Try again later.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  )
