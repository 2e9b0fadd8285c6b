/**
 * Reruns dead letters at the requested rate. One api node at a time works on a redrive; if it dies or stops, another one
 * continues. A dead letter is settled in the transaction that creates its new run, and can have only one row in
 * `dead_letter_settled`, so none is rerun twice, even if two nodes believe they have the lease.
 *
 * Dead letters of a task that allows one active run at a time wait for each other: a pass that had to leave some out is
 * followed by another, until none are left.
 */

import { contextOf, type Facilities, systemCall } from '../operations/context.ts'
import { pause } from '../operations/dead-letters/pause.ts'
import { LEASE_MS, RedrivePass } from '../operations/dead-letters/redrive-pass.ts'
import { LeasedWork } from '../runtime/leased-work.ts'
import { SetAside } from '../store/database/set-aside.ts'
import {
  leaseRedrives,
  type RedriveRow,
  releaseRedrive,
  unleasedRedrives,
} from '../store/history/redrives.ts'
import type { Logger } from '../telemetry/logger.ts'

const EVERY_MS = 1_000
/** Maximum number of redrives that a node works on at once. */
const MAX_LEASED = 4
const BETWEEN_PASSES_MS = 1_000

export interface RedriverOptions {
  readonly facilities: Facilities
  readonly log: Logger
}

export class Redriver extends LeasedWork<RedriveRow> {
  readonly #facilities: Facilities
  readonly #aside: SetAside<{ readonly id: string }>

  constructor({ facilities, log }: RedriverOptions) {
    super({ name: 'redrives', everyMs: EVERY_MS, mostLeased: MAX_LEASED, log })
    this.#facilities = facilities
    const subjectOf = ({ id }: { readonly id: string }) => ({ id })
    this.#aside = new SetAside({ operation: 'redrive', db: facilities.db, log, subjectOf })
  }

  protected async lease(limit: number): Promise<RedriveRow[]> {
    const { db } = this.#facilities
    const leased: RedriveRow[] = []
    const unleased = await db.run(unleasedRedrives({ limit, except: this.#aside.restingIds }))
    if (unleased.length > 0)
      await this.#aside.each(unleased, async (redrives) => {
        leased.push(...(await db.run(leaseRedrives({ redrives, leaseMs: LEASE_MS }))))
      })
    return leased
  }

  protected async work(redrive: RedriveRow, stopping: AbortSignal): Promise<void> {
    const pass = new RedrivePass(
      contextOf(this.#facilities, systemCall('redriver', redrive.projectId)),
      redrive,
      stopping,
    )
    while (!stopping.aborted) {
      if ((await pass.run()) !== 'running') return
      await pause(BETWEEN_PASSES_MS, stopping)
    }
    await this.#facilities.db.run(releaseRedrive(redrive))
  }
}
