import type { FastifyReply } from 'fastify'
import { Refusal } from '../../../core/errors.ts'
import { onceClosed } from '../../http/once-closed.ts'

/** Maximum number of uploads and downloads in progress on a node, each with one or two chunks in memory. */
export const MAX_TRANSFERS = 64
/**
 * Maximum number of them that are uploads of one project, and that are downloads. Either may take any time as long as bytes keep
 * arriving, so the holder of one address could otherwise block all other projects.
 */
export const MAX_TRANSFERS_OF_PROJECT = 16
const RETRY_AFTER_SECONDS = 5

/** Uploads and downloads in progress. A node that stops ends them; clients continue them at another node. */
export class Transfers {
  readonly #open = new Set<FastifyReply['raw']>()
  /** Number of transfers in progress, by direction and project. */
  readonly #counts = new Map<string, number>()

  enter({ raw }: FastifyReply, direction: 'uploads' | 'downloads', projectId: string): void {
    const share = `${direction} ${projectId}`
    const count = this.#counts.get(share) ?? 0
    if (count >= MAX_TRANSFERS_OF_PROJECT)
      throw busy(
        `This node has ${count} ${direction} of the project in progress, which is the limit. Try again later.`,
      )
    if (this.#open.size >= MAX_TRANSFERS)
      throw busy(
        `This node has ${MAX_TRANSFERS} uploads and downloads in progress, which is the limit. Try again later.`,
      )
    this.#open.add(raw)
    this.#counts.set(share, count + 1)
    onceClosed(raw, () => {
      this.#open.delete(raw)
      const left = (this.#counts.get(share) ?? 1) - 1
      if (left === 0) this.#counts.delete(share)
      else this.#counts.set(share, left)
    })
  }

  close(): void {
    for (const raw of this.#open) raw.destroy()
  }
}

const busy = (detail: string) => new Refusal('busy', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS })
