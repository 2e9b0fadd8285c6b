/**
 * The lease under which a node delivers for a subscription. Progress is stored only while the lease is valid, and storing it
 * renews the lease and returns the settings, which may have changed.
 */
import type { EventPosition } from '../../core/run/frontier.ts'
import { sourceOf } from '../../core/run/history-event.ts'
import { utc } from '../../core/values/utc.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Database } from '../../store/database/database.ts'
import {
  type DeliveryProgress,
  type DeliverySettings,
  type LeasedSubscription,
  saveDelivered,
} from '../../store/events/deliveries.ts'
import type { DeliveryGap } from '../../store/events/subscriptions.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { extended, findGap } from './gap.ts'

/** Another node has the lease by now, or it was released. */
export class LeaseLost extends Error {}

/** A lease that this node has taken. */
export interface DeliveryLeaseOptions {
  readonly db: Database
  readonly log: Logger
  readonly clock: Clock
  readonly subscription: LeasedSubscription
  /** When the lease was taken, on the monotonic clock. */
  readonly leasedAt: number
  readonly leaseMs: number
}

export class DeliveryLease {
  readonly #options: DeliveryLeaseOptions
  /** Until when, on the monotonic clock, no other node may deliver. */
  #leasedUntil: number
  #settings: DeliverySettings
  #gap: DeliveryGap | null

  constructor(options: DeliveryLeaseOptions) {
    const { subscription, leasedAt, leaseMs } = options
    this.#options = options
    this.#settings = subscription
    this.#gap = subscription.gap
    this.#leasedUntil = leasedAt + leaseMs
  }

  /** The settings as last read. */
  get settings(): DeliverySettings {
    return this.#settings
  }

  /** Renews the lease unless it lasts this long. */
  async ensure(ms: number): Promise<void> {
    if (performance.now() + ms > this.#leasedUntil) await this.renew()
  }

  /** Stores and logs that events were deleted before they were delivered; for a position from which a page was just read. */
  async noteGap(position: EventPosition): Promise<void> {
    const { db, log, clock, subscription } = this.#options
    const { id, projectId } = subscription
    const source = sourceOf(this.#settings.filter)
    const found = await findGap(db, { position, projectId, source, now: clock.now() })
    const gap = found && extended(this.#gap, found)
    if (gap === null) return
    this.#gap = gap
    await this.renew()
    const range = { from: utc(gap.from), to: utc(gap.to) }
    log.warn({ subscriptionId: id, projectId, ...range }, 'events were deleted before they were delivered')
  }

  /** Renews the lease without storing progress. */
  async renew(): Promise<void> {
    await this.save({ position: null, held: null, delivered: 0, lastEvent: null, isFailing: false })
  }

  /** Stores progress and renews the lease. Throws `LeaseLost` if another node has it. */
  async save(progress: Omit<DeliveryProgress, 'id' | 'fence' | 'leaseMs' | 'gap'>): Promise<void> {
    const { db, subscription, leaseMs } = this.#options
    const { id, fence } = subscription
    const askedAt = performance.now()
    const [settings] = await db.run(saveDelivered({ id, fence, leaseMs, gap: this.#gap, ...progress }))
    // If the source has changed, delivery starts again.
    if (!settings || sourceOf(settings.filter) !== sourceOf(this.#settings.filter)) throw new LeaseLost()
    this.#settings = settings
    this.#leasedUntil = askedAt + leaseMs
  }
}
