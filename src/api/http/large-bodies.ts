/**
 * Limits how many large requests are processed at once. Reading, validating, storing and answering one takes several times its
 * length in memory, so only a bounded number of bytes is admitted at once; further requests wait before any of their body is
 * read, and are rejected if that takes too long. Requests of ordinary size never wait.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../core/errors.ts'
import type { App } from '../app.ts'

/** Maximum size of an ordinary request. */
const ORDINARY_BYTES = 1024 * 1024
/** Maximum bytes of all large bodies that are read or processed at once. */
const MAX_BYTES_AT_ONCE = 64 * 1024 * 1024
const MAX_WAITING = 100
/** Shorter than the request timeout, so that a waiting client gets a response. */
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

/**
 * Returns the announced length of a body, or the maximum if it is sent in chunks. Returns 0 for a body that is too long, which
 * is rejected because of its length.
 */
function announcedBytes({ headers, routeOptions }: FastifyRequest): number {
  const limit = routeOptions.bodyLimit ?? 0
  if (headers['transfer-encoding'] !== undefined) return limit
  const bytes = Number(headers['content-length'] ?? 0)
  return bytes > limit ? 0 : bytes
}

class Turns {
  #bytes = 0
  #waiting: Waiting[] = []

  /** Resolves when there is room, and reserves it until the request was answered or its connection is closed. */
  enter(bytes: number, reply: FastifyReply): Promise<void> {
    // A closed connection must not enter: nothing would release its room.
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

  /** Admits requests in the order of their arrival; a single one is admitted whatever its length. */
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
