import type { FastifyReply } from 'fastify'
import { Refusal } from '../../../core/errors.ts'

/** Uploads and downloads in progress on a node, each with one or two chunks in memory. */
export const MAX_TRANSFERS = 64
const RETRY_AFTER_SECONDS = 5

/** Uploads and downloads in progress. A node that stops ends them: they continue at another one. */
export class Transfers {
  readonly #open = new Set<FastifyReply['raw']>()

  enter({ raw }: FastifyReply): void {
    if (this.#open.size >= MAX_TRANSFERS)
      throw new Refusal(
        'busy',
        `This node has ${MAX_TRANSFERS} uploads and downloads in progress, which is the limit. Try again later.`,
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      )
    this.#open.add(raw)
    raw.once('close', () => this.#open.delete(raw))
  }

  close(): void {
    for (const raw of this.#open) raw.destroy()
  }
}
