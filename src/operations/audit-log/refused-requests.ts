/**
 * Records requests that were rejected because of their sender: without a valid credential, or without the permission. They are
 * recorded like changes, but a sender must not be able to fill the disk with rejected requests. In each minute a few requests
 * get an entry each, the first ones of every sender; the others are counted, and one entry per sender states their number.
 * Entries that cannot be written yet are kept and written later. The number of requests affects only how detailed the entries
 * are.
 */

import type { AuditAction } from '../../core/audit-log/audit-action.ts'
import { INSTALLATION_ID } from '../../core/audit-log/audit-entry.ts'
import { MAX_INTEGER } from '../../core/values/integer.ts'
import { senderNetwork } from '../../core/values/sender-network.ts'
import { MINUTE_MS } from '../../core/values/time-units.ts'
import { utc } from '../../core/values/utc.ts'
import type { Clock } from '../../runtime/clock.ts'
import { LoopService } from '../../runtime/loop-service.ts'
import { appendEntries, type NewEntry } from '../../store/audit-log/audit-log.ts'
import type { Queryable } from '../../store/database/database.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { type Caller, entryOf } from './record-change.ts'

const WRITE_EVERY_MS = 1_000
/** Maximum number of entries for single requests per minute: of one sender, and of all senders. */
const MAX_SINGLE_OF_SENDER = 10
export const MAX_SINGLE = 60
/** Maximum number of senders per minute that are counted separately; all further senders are counted together. */
export const MAX_SENDERS = 100
/** Maximum number of entries waiting to be written, and number of entries per statement. */
const MAX_WAITING = 1_000
const BATCH = 200

/** A rejected request, and why it was rejected. */
export interface RefusedRequest {
  readonly action: Extract<AuditAction, 'authentication.failed' | 'signin.failed' | 'permission.refused'>
  readonly caller: Caller
  /** The route that was requested, such as `DELETE /v1/tasks/:id`. */
  readonly route: string
  /** The error code of the response. */
  readonly code: string
}

/** The requests of one sender that have no entry of their own. */
interface Counted {
  readonly first: RefusedRequest
  readonly from: number
  count: number
}

export interface RefusedRequestsOptions {
  readonly db: Queryable
  readonly clock: Clock
  readonly log: Logger
}

export class RefusedRequests extends LoopService {
  readonly #options: RefusedRequestsOptions
  #minuteEndsAt = 0
  /** Number of single entries in this minute, by sender. */
  #singles = new Map<string, number>()
  #single = 0
  #counted = new Map<string, Counted>()
  #waiting: NewEntry[] = []

  constructor(options: RefusedRequestsOptions) {
    super({ name: 'refused requests', everyMs: WRITE_EVERY_MS, log: options.log })
    this.#options = options
  }

  note(refused: RefusedRequest): void {
    const sender = senderOf(refused)
    const ofSender = this.#singles.get(sender) ?? 0
    if (ofSender < MAX_SINGLE_OF_SENDER && this.#single < MAX_SINGLE && this.#waiting.length < MAX_WAITING) {
      this.#single++
      this.#singles.set(sender, ofSender + 1)
      this.#waiting.push(entryFor(refused, { code: refused.code }))
      return
    }
    const isKnown = this.#counted.has(sender) || this.#counted.size < MAX_SENDERS
    const counted = isKnown ? refused : withoutSender(refused)
    this.#count(isKnown ? sender : senderOf(counted), counted)
  }

  #count(sender: string, refused: RefusedRequest): void {
    const counted = this.#counted.get(sender)
    if (counted) counted.count = Math.min(counted.count + 1, MAX_INTEGER)
    else this.#counted.set(sender, { first: refused, from: this.#options.clock.now(), count: 1 })
  }

  /** Writes the waiting entries. Counts become entries at the end of their minute. */
  async runOnce(): Promise<number | undefined> {
    if (performance.now() >= this.#minuteEndsAt) this.#endMinute()
    const batch = this.#waiting.slice(0, BATCH)
    if (batch.length === 0) return undefined
    await this.#options.db.run(appendEntries(batch))
    this.#waiting.splice(0, batch.length)
    return this.#waiting.length > 0 ? 0 : undefined
  }

  /** Ends the minute. While the database accepts no entries, the current minute is extended. */
  #endMinute(): void {
    if (this.#waiting.length > 0 && this.#counted.size > 0) return
    const until = this.#options.clock.now()
    for (const { first, from, count } of this.#counted.values())
      this.#waiting.push({ ...entryFor(first, { from: utc(from), until: utc(until) }), count })
    this.#counted.clear()
    this.#singles.clear()
    this.#single = 0
    this.#minuteEndsAt = performance.now() + MINUTE_MS
  }

  override async stop(): Promise<void> {
    await super.stop()
    try {
      while ((await this.runOnce()) === 0);
      this.#endMinute()
      while ((await this.runOnce()) === 0);
    } catch (error) {
      const counts = [...this.#counted.values()].map(({ count }) => count)
      const requests = counts.reduce((sum, count) => sum + count, this.#waiting.length)
      this.#options.log.error({ err: error, requests }, 'refused requests are missing from the audit log')
    }
  }
}

function entryFor({ action, caller, route }: RefusedRequest, after: object): NewEntry {
  return entryOf(caller, { action, subject: { kind: 'route', id: route }, after })
}

/**
 * Returns the key by which requests are counted together: an actor in a project or, without credentials, the network of an
 * address.
 */
function senderOf({ action, caller: { projectId, actor } }: RefusedRequest): string {
  const who = 'id' in actor ? actor.id : 'address' in actor ? senderNetwork(actor.address) : actor.part
  return `${action} ${projectId} ${who}`
}

/** Replaces the sender by a common one, for the senders beyond the limit. */
const withoutSender = (refused: RefusedRequest): RefusedRequest => ({
  ...refused,
  route: '*',
  caller: { projectId: INSTALLATION_ID, actor: { kind: 'anonymous', address: null } },
})
