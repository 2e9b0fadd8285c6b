import { type EventSource, sourceOf } from '../../core/run/history-event.ts'
import { HttpClient, type HttpClientOptions } from '../../outgoing/http-client.ts'
import type { EndpointKeys } from '../../outgoing/signer.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Interruptions, LeasedWork, type Waiting, type WaitingQuery } from '../../runtime/leased-work.ts'
import type { Database } from '../../store/database/database.ts'
import { SetAside } from '../../store/database/set-aside.ts'
import {
  type LeasedSubscription,
  leaseSubscriptions,
  unleasedSubscriptions,
} from '../../store/events/deliveries.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { HistoryTail } from '../history-tail.ts'
import { Delivery } from './delivery.ts'

const EVERY_MS = 1_000
/** Maximum number of subscriptions that a node delivers for, and that it leases with one query. */
const MAX_LEASED = 100
const TAKEN_AT_ONCE = 5

export interface DelivererOptions {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  readonly userAgent: string
  readonly keys: EndpointKeys
  /** Whether this node can sign messages; it sends none otherwise. */
  canSign(): boolean
  /** Where receivers may be, and how their names are resolved. */
  readonly http: HttpClientOptions
  /** For how long a silent node prevents others from delivering. */
  readonly leaseMs: number
}

/** A subscription, and when its lease was taken on the monotonic clock. */
type Leased = LeasedSubscription & { readonly leasedAt: number }

/** Delivers events to the subscriptions of all projects. */
export class Deliverer extends LeasedWork<Leased> {
  readonly #options: DelivererOptions
  readonly #client: HttpClient
  readonly #tails: { readonly [S in EventSource]: HistoryTail }
  readonly #aside: SetAside<Waiting>

  constructor(options: DelivererOptions) {
    const { db, log, http } = options
    super({
      name: 'subscriptions',
      everyMs: EVERY_MS,
      mostLeased: MAX_LEASED,
      mostAtOnce: TAKEN_AT_ONCE,
      log,
    })
    this.#options = options
    this.#client = new HttpClient(http)
    this.#tails = {
      history: new HistoryTail({ db, log }),
      'audit-log': new HistoryTail({ db, log, source: 'audit-log' }),
    }
    this.#aside = new SetAside({ operation: 'subscription', db, log, subjectOf: ({ id }) => ({ id }) })
  }

  override async stop(): Promise<void> {
    await super.stop()
    await this.#client.close()
  }

  protected async waiting(query: WaitingQuery): Promise<readonly Waiting[]> {
    if (!this.#options.canSign()) return []
    return this.#options.db.run(unleasedSubscriptions({ ...query, except: this.#aside.restingIds }))
  }

  protected async lease(waiting: readonly Waiting[]): Promise<Leased[]> {
    const { db, leaseMs } = this.#options
    const taken: Leased[] = []
    await this.#aside.each(waiting, async (subscriptions) => {
      const leasedAt = performance.now()
      for (const leased of await db.run(leaseSubscriptions({ subscriptions, leaseMs })))
        taken.push({ ...leased, leasedAt })
    })
    return taken
  }

  protected work(subscription: Leased, interruptions: Interruptions): Promise<void> {
    const { db, log, clock, userAgent, keys, leaseMs } = this.#options
    const tail = this.#tails[sourceOf(subscription.filter)]
    const parts = { db, log, clock, userAgent, keys, leaseMs, tail, client: this.#client }
    return new Delivery({ ...parts, ...interruptions, subscription, leasedAt: subscription.leasedAt }).run()
  }
}
