/**
 * Limits how many streams one caller may have open on a node, so that one faulty program cannot use up all of them, and how many
 * the callers of one project may have together.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../core/errors.ts'
import type { Actor } from '../../operations/context.ts'
import type { App } from '../app.ts'
import { onceClosed } from './once-closed.ts'
import { wantsEvents } from './request.ts'

/** Maximum number of open streams of a project on a node: half of those of each kind that a node has for all projects. */
export const MAX_STREAMS_OF_PROJECT = 250

/** Somebody who shares a limited number of streams. */
interface Share {
  readonly name: string
  readonly who: string
  readonly limit: number
}

/**
 * Must be called before the routes are registered, because it inspects each of them. Claims and transfers have their own
 * limits.
 */
export function limitStreams(app: App, maxPerCaller: number): void {
  const open = new Map<string, number>()

  const enter = async (request: FastifyRequest, reply: FastifyReply) => {
    const { context, routeOptions } = request
    if (routeOptions.config.lasting === 'stream_if_asked' && !wantsEvents(request)) return
    const shares: readonly Share[] = [
      { name: callerOf(context.actor), who: 'You have', limit: maxPerCaller },
      { name: `project ${context.projectId}`, who: 'The project has', limit: MAX_STREAMS_OF_PROJECT },
    ]
    for (const share of shares) if ((open.get(share.name) ?? 0) >= share.limit) throw tooMany(share)
    for (const { name } of shares) open.set(name, (open.get(name) ?? 0) + 1)
    onceClosed(reply.raw, () => {
      for (const { name } of shares) leave(name)
    })
  }
  const leave = (name: string) => {
    const count = open.get(name) ?? 0
    if (count > 1) open.set(name, count - 1)
    else open.delete(name)
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

const tooMany = ({ who, limit }: Share) =>
  new Refusal(
    'stream_limit',
    `${who} ${limit} open streams on this node, which is the limit. Close one, or share a stream between parts of your program.`,
    { retryAfterSeconds: 5 },
  )
