/**
 * Reruns dead letters at the requested rate. One api node at a time works on a redrive; if it dies or stops, another one
 * continues. A dead letter is settled in the transaction that creates its new run, and can have only one row in
 * `dead_letter_settled`, so none is rerun twice, even if two nodes believe they have the lease.
 *
 * Dead letters of a task that allows one active run at a time wait for each other: a pass that had to leave some out is
 * followed by another, until none are left. A redrive takes a slot only while it has something to do (redrive-pass.ts).
 */

import { contextOf, type Facilities, systemCall } from '../operations/context.ts'
import { LEASE_MS, RedrivePass } from '../operations/dead-letters/redrive-pass.ts'
import { type Interruptions, LeasedWork, type Waiting, type WaitingQuery } from '../runtime/leased-work.ts'
import { SetAside } from '../store/database/set-aside.ts'
import { type LeasedRedrive, leaseRedrives, unleasedRedrives } from '../store/history/redrives.ts'
import type { Logger } from '../telemetry/logger.ts'

const EVERY_MS = 1_000
/** Maximum number of redrives that a node works on at once. */
const MAX_LEASED = 4

export interface RedriverOptions {
  readonly facilities: Facilities
  readonly log: Logger
}

export class Redriver extends LeasedWork<LeasedRedrive> {
  readonly #facilities: Facilities
  readonly #aside: SetAside<Waiting>

  constructor({ facilities, log }: RedriverOptions) {
    super({ name: 'redrives', everyMs: EVERY_MS, mostLeased: MAX_LEASED, log })
    this.#facilities = facilities
    this.#aside = new SetAside({
      operation: 'redrive',
      db: facilities.db,
      log,
      subjectOf: ({ id }) => ({ id }),
    })
  }

  protected waiting(query: WaitingQuery): Promise<readonly Waiting[]> {
    return this.#facilities.db.run(unleasedRedrives({ ...query, except: this.#aside.restingIds }))
  }

  protected async lease(waiting: readonly Waiting[]): Promise<LeasedRedrive[]> {
    const leased: LeasedRedrive[] = []
    await this.#aside.each(waiting, async (redrives) => {
      leased.push(...(await this.#facilities.db.run(leaseRedrives({ redrives, leaseMs: LEASE_MS }))))
    })
    return leased
  }

  protected work(redrive: LeasedRedrive, interruptions: Interruptions): Promise<void> {
    const context = contextOf(this.#facilities, systemCall('redriver', redrive.projectId))
    return new RedrivePass(context, redrive, interruptions).run()
  }
}
