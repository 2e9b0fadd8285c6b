/**
 * Large requests take turns. To read, check, store and answer one takes several times its length in memory, so only so many
 * bytes of them are let in at once; the others wait before anything of their body is read, and are refused when that takes
 * too long. Requests of ordinary size never wait.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../core/errors.ts'
import type { App } from '../app.ts'

/** What is no longer than this is of ordinary size. */
const ORDINARY_BYTES = 1024 * 1024
/** Bytes of all large bodies that are read or worked on. */
const MAX_BYTES_AT_ONCE = 64 * 1024 * 1024
const MAX_WAITING = 100
/** Less than a request may take to arrive, so that whoever waits is told. */
const MAX_WAIT_MS = 20_000

interface Waiting {
  readonly bytes: number
  readonly enter: () => void
}

export function takeLargeBodiesInTurn(app: App): void {
  const turns = new Turns()
  app.addHook('onRequest', async (request, reply) => {
    const bytes = announcedBytes(request)
    if (bytes > ORDINARY_BYTES) await turns.enter(bytes, reply)
  })
}

/** How long a body may become: as it says, or as long as it may be. One that is too long is refused by its length alone. */
function announcedBytes({ headers, routeOptions }: FastifyRequest): number {
  const limit = routeOptions.bodyLimit ?? 0
  if (headers['transfer-encoding'] !== undefined) return limit
  const bytes = Number(headers['content-length'] ?? 0)
  return bytes > limit ? 0 : bytes
}

class Turns {
  #bytes = 0
  #waiting: Waiting[] = []

  /** Resolves when there is room, which is kept until the request was answered or its connection is gone. */
  enter(bytes: number, reply: FastifyReply): Promise<void> {
    // Who is gone takes no turn: nobody would give it back.
    if (this.#waiting.length >= MAX_WAITING || reply.raw.destroyed) throw busy()
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#leave(waiting)
        reject(busy())
      }, MAX_WAIT_MS)
      let hasEntered = false
      const waiting: Waiting = {
        bytes,
        enter: () => {
          hasEntered = true
          clearTimeout(timer)
          this.#bytes += bytes
          resolve()
        },
      }
      reply.raw.once('close', () => {
        clearTimeout(timer)
        if (hasEntered) this.#bytes -= bytes
        this.#leave(waiting)
      })
      this.#waiting.push(waiting)
      this.#letIn()
    })
  }

  #leave(waiting: Waiting): void {
    this.#waiting = this.#waiting.filter((one) => one !== waiting)
    this.#letIn()
  }

  /** One after another, in the order they came; one alone is let in whatever its length. */
  #letIn(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      if (this.#bytes > 0 && this.#bytes + next.bytes > MAX_BYTES_AT_ONCE) return
      this.#waiting.shift()
      next.enter()
    }
  }
}

const busy = () =>
  new Refusal(
    'busy',
    'This node is busy with other large requests. Nothing was stored. Retry the request, or split it into smaller ones.',
  )
