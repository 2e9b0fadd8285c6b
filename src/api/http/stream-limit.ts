/** Limits how many streams one caller may have open on a node, so that one faulty program cannot use up all of them. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../core/errors.ts'
import type { Actor } from '../../operations/context.ts'
import type { App } from '../app.ts'
import { onceClosed } from './once-closed.ts'
import { wantsEvents } from './request.ts'

/**
 * Must be called before the routes are registered, because it inspects each of them. Claims and transfers have limits of their
 * own.
 */
export function limitStreams(app: App, maxPerCaller: number): void {
  const open = new Map<string, number>()

  const enter = async (request: FastifyRequest, reply: FastifyReply) => {
    const { context, routeOptions } = request
    if (routeOptions.config.lasting === 'stream_if_asked' && !wantsEvents(request)) return
    const caller = callerOf(context.actor)
    const count = open.get(caller) ?? 0
    if (count >= maxPerCaller) throw tooMany(maxPerCaller)
    open.set(caller, count + 1)
    onceClosed(reply.raw, () => leave(caller))
  }
  const leave = (caller: string) => {
    const count = open.get(caller) ?? 0
    if (count > 1) open.set(caller, count - 1)
    else open.delete(caller)
  }

  app.addHook('onRoute', (route) => {
    const lasting = route.config?.lasting
    if (lasting === 'stream' || lasting === 'stream_if_asked')
      route.preHandler = [enter, ...[route.preHandler ?? []].flat()]
  })
}

/** A key or a person counts as one caller, whatever their address; others are counted by address. */
function callerOf(actor: Actor): string {
  if (actor.kind === 'system') return actor.part
  return actor.kind === 'anonymous' ? `address ${actor.address}` : `${actor.kind} ${actor.id}`
}

const tooMany = (limit: number) =>
  new Refusal(
    'stream_limit',
    `You have ${limit} open streams on this node, which is the limit. Close one, or share a stream between parts of your program.`,
    { retryAfterSeconds: 5 },
  )
