import type { DatabaseClock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import type { Database } from '../store/database.ts'
import { beat, declareDead, insertNode, type NewNode } from '../store/nodes.ts'

export interface HeartbeatOptions {
  readonly node: NewNode
  readonly db: Database
  readonly clock: DatabaseClock
  readonly log: Logger
  readonly everyMs: number
  /** Called once, when the others have declared this node dead and taken its runs. */
  onDeclaredDead(): void
}

/** An answer that took longer than this says too little about the time. */
const SLOWEST_CLOCK_READING_MS = 250

/**
 * Shows the others that this node lives, and reads the database's clock on the way. A node that was
 * declared dead never comes back under the same id.
 */
export class Heartbeat implements Service {
  readonly #options: HeartbeatOptions
  readonly #loop: Loop

  constructor(options: HeartbeatOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: 'heartbeat',
      everyMs: options.everyMs,
      log: options.log,
      runOnce: () => this.runOnce(),
    })
  }

  async start(): Promise<void> {
    await this.#options.db.run(insertNode(this.#options.node))
    await this.runOnce()
    this.#loop.start()
  }

  /** The last word of a node that stops in order: nothing of it is left to take back. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#options.db.run(declareDead({ nodeId: this.#options.node.id, beat: null, reason: 'stopped' }))
  }

  async runOnce(): Promise<undefined> {
    const { db, node, clock, log, onDeclaredDead } = this.#options
    const askedAt = performance.now()
    const [answer] = await db.run(beat(node.id))
    if (!answer) {
      log.fatal('this node was declared dead by the others: its runs have been given away')
      onDeclaredDead()
      return
    }
    if (performance.now() - askedAt > SLOWEST_CLOCK_READING_MS) return
    const sample = clock.observe(answer.now)
    if (sample.kind === 'step')
      log.error({ byMs: Math.round(sample.byMs) }, 'the clock of the database was set')
  }
}
