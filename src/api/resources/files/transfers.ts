import type { FastifyReply } from 'fastify'
import { Refusal } from '../../../core/errors.ts'
import { onceClosed } from '../../http/once-closed.ts'

/** Maximum number of uploads and downloads in progress on a node, each with one or two chunks in memory. */
export const MAX_TRANSFERS = 64
/**
 * Maximum number of them that are uploads of one project. A body may take any time as long as bytes of it keep arriving, so the
 * holder of one address could otherwise block all other clients, including the downloads of workers.
 */
export const MAX_UPLOADS_OF_PROJECT = 16
const RETRY_AFTER_SECONDS = 5

/** Uploads and downloads in progress. A node that stops ends them; clients continue them at another node. */
export class Transfers {
  readonly #open = new Set<FastifyReply['raw']>()
  /** Number of uploads in progress, by project. */
  readonly #uploads = new Map<string, number>()

  enter({ raw }: FastifyReply): void {
    if (this.#open.size >= MAX_TRANSFERS)
      throw busy(
        `This node has ${MAX_TRANSFERS} uploads and downloads in progress, which is the limit. Try again later.`,
      )
    this.#open.add(raw)
    onceClosed(raw, () => this.#open.delete(raw))
  }

  enterUpload(reply: FastifyReply, projectId: string): void {
    const count = this.#uploads.get(projectId) ?? 0
    if (count >= MAX_UPLOADS_OF_PROJECT)
      throw busy(
        `This node has ${count} uploads of the project in progress, which is the limit. Try again later.`,
      )
    this.enter(reply)
    this.#uploads.set(projectId, count + 1)
    onceClosed(reply.raw, () => {
      const left = (this.#uploads.get(projectId) ?? 1) - 1
      if (left === 0) this.#uploads.delete(projectId)
      else this.#uploads.set(projectId, left)
    })
  }

  close(): void {
    for (const raw of this.#open) raw.destroy()
  }
}

const busy = (detail: string) => new Refusal('busy', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS })
