import type { Logger } from '../../runtime/logger.ts'
import { Loop } from '../../runtime/loop.ts'
import type { Service } from '../../runtime/service.ts'
import type { Database } from '../../store/database.ts'
import { HistoryTail } from '../../store/history-tail.ts'
import { leaseSubscriptions } from '../../store/subscriptions.ts'
import { HttpClient } from '../executors/http-client.ts'
import { Delivery } from './delivery.ts'

const EVERY_MS = 1_000
/** Subscriptions that a node delivers for, at most, and takes on with one look: others want some too. */
const MAX_HELD = 100
const TAKEN_AT_ONCE = 5

export interface DelivererOptions {
  readonly db: Database
  readonly log: Logger
  readonly userAgent: string
  /** Whether receivers may be on loopback or in private networks. */
  readonly allowPrivateAddresses: boolean
  /** For how long a node that fell silent keeps others from delivering. */
  readonly leaseMs: number
}

/**
 * Delivers events to the subscriptions of all projects. Safe on every node at once: each subscription is leased to one
 * of them at a time, and whoever finds one without a holder takes it.
 */
export class Deliverer implements Service {
  readonly #options: DelivererOptions
  readonly #loop: Loop
  readonly #client: HttpClient
  readonly #tail: HistoryTail
  readonly #deliveries = new Map<string, { delivery: Delivery; ended: Promise<void> }>()

  constructor(options: DelivererOptions) {
    this.#options = options
    const { db, log, allowPrivateAddresses } = options
    this.#client = new HttpClient({ allowPrivate: allowPrivateAddresses })
    this.#tail = new HistoryTail({ db, log })
    this.#loop = new Loop({ name: 'subscriptions', everyMs: EVERY_MS, log, runOnce: () => this.runOnce() })
  }

  start(): void {
    this.#loop.start()
  }

  /** What is on its way is waited for, so that whoever goes on sends nothing twice. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    for (const { delivery } of this.#deliveries.values()) delivery.stop()
    await Promise.all([...this.#deliveries.values()].map(({ ended }) => ended))
    await this.#client.close()
  }

  /** Takes on what nobody delivers for. */
  async runOnce(): Promise<number | undefined> {
    const { db, leaseMs } = this.#options
    const limit = Math.min(TAKEN_AT_ONCE, MAX_HELD - this.#deliveries.size)
    if (limit <= 0) return undefined
    const leasedAt = performance.now()
    const leased = await db.run(leaseSubscriptions({ leaseMs, limit }))
    for (const subscription of leased)
      this.#begin(new Delivery({ ...this.#parts(), subscription, leasedAt }), subscription)
    return leased.length === limit ? 0 : undefined
  }

  #parts() {
    const { db, userAgent, leaseMs } = this.#options
    return { db, userAgent, leaseMs, tail: this.#tail, client: this.#client }
  }

  #begin(delivery: Delivery, { id, fence }: { id: string; fence: number }): void {
    const key = `${id} ${fence}`
    const ended = delivery
      .run()
      .catch((error: unknown) =>
        this.#options.log.warn(
          { err: error, subscription: id },
          'events could not be delivered; somebody will go on',
        ),
      )
      .finally(() => this.#deliveries.delete(key))
    this.#deliveries.set(key, { delivery, ended })
  }
}
