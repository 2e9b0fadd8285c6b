/**
 * All clients that follow completion events on this node: admits them, sends them the events that they want, and ends their
 * streams.
 */

import type { ServerResponse } from 'node:http'
import { Refusal } from '../../../core/errors.ts'
import { type EventPosition, formatPosition, parsePosition, reachedUs } from '../../../core/run/frontier.ts'
import {
  type EventFilter,
  type EventSource,
  eventOf,
  type HistoryEvent,
  isWanted,
  sourceOf,
} from '../../../core/run/history-event.ts'
import { utc } from '../../../core/values/utc.ts'
import { type HistoryPage, SURELY_KEPT_US } from '../../../events/history-page.ts'
import type { HistoryTail } from '../../../events/history-tail.ts'
import { positionAfter } from '../../../operations/subscriptions/position-after.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import { BEAT_MS } from '../../http/begin-stream.ts'
import type { ReadFrom } from './deleted-after.ts'
import { EventClient, type EventText } from './event-client.ts'
import type { EventsEnd, EventsGap, EventsHello } from './schemas.ts'

export const MAX_EVENT_STREAMS = 500
/** Browsers reconnect after this time. */
const RETRY_MS = 2_000

/** A client that wants to follow events. */
export interface Follower {
  readonly response: ServerResponse
  readonly headers: Readonly<Record<string, string>>
  /** Null for all projects, and for events that belong to none. */
  readonly projectId: string | null
  readonly filter: EventFilter
  /** The position to continue from. */
  readonly start: EventStart
}

/** Where a stream begins: after an event, at an instant, now, or unknown if the position cannot be read. */
export type EventStart = EventPosition | 'now' | 'unknown'

/**
 * Reads the position that a client continues from. Browsers do not reconnect after an error, so an invalid `Last-Event-ID` is
 * not rejected.
 */
export function startOf({
  after,
  lastEventId,
}: {
  after?: string | undefined
  lastEventId: string | null
}): EventStart {
  if (lastEventId !== null && lastEventId !== '') return parsePosition(lastEventId) ?? 'unknown'
  if (after === undefined) return 'now'
  return positionAfter(after, '?after')
}

/** An event as text. */
type EventBody = Required<Pick<EventText, 'event' | 'data'>>

export interface EventClientsOptions {
  readonly tails: { readonly [S in EventSource]: HistoryTail }
  readonly clock: Clock
  readonly log: Logger
  readonly limit: number
  readonly stuckMs?: number
  /** Asked after reading from a position: the instant up to which retention deleted events after it; null if it deleted none. */
  readonly deletedAfter: (read: ReadFrom) => Promise<number | null>
}

export class EventClients {
  readonly #options: EventClientsOptions
  readonly #open = new Set<EventClient>()
  /** The text of events, so that an event for many clients is serialised once. */
  readonly #texts = new WeakMap<HistoryEvent, EventBody>()
  #expected = 0
  #isClosed = false

  constructor(options: EventClientsOptions) {
    this.#options = options
  }

  /** Opens a stream. It may be rejected before anything is written. */
  async open(follower: Follower, take: () => void): Promise<void> {
    const { tails, limit, stuckMs } = this.#options
    const tail = tails[sourceOf(follower.filter)]
    if (this.#isClosed || this.#open.size + this.#expected >= limit)
      throw new Refusal(
        'too_many_streams',
        `This node serves at most ${limit} event streams at once. Try again later, or connect to another node.`,
      )
    this.#expected++
    const stopFollowing = await tail.follow().finally(() => this.#expected--)
    if (this.#isClosed || follower.response.destroyed) {
      stopFollowing()
      throw new Refusal('unavailable', 'This node is shutting down. Connect to another node.')
    }
    take()
    const { response, headers } = follower
    const client = new EventClient({ response, headers, ...(stuckMs === undefined ? {} : { stuckMs }) })
    this.#open.add(client)
    void this.#serve(client, follower).finally(() => {
      this.#open.delete(client)
      stopFollowing()
    })
  }

  /** Ends all streams because the server stops; clients reconnect by themselves, to another node. */
  close(): void {
    this.#isClosed = true
    for (const client of [...this.#open]) this.#end(client, 'stopping')
  }

  async #serve(client: EventClient, { start, ...wanted }: Follower): Promise<void> {
    const { tails, clock, log, deletedAfter } = this.#options
    const source = sourceOf(wanted.filter)
    const tail = tails[source]
    let position = start === 'now' || start === 'unknown' ? tail.end : start
    // A position in the middle of a page names a run, which may be of another project: the client is never sent such a
    // position.
    let shown: EventPosition | null = position
    let spokeAt = performance.now()
    this.#greet(client, position)
    if (start === 'unknown')
      this.#tellGap(client, position, { reason: 'position_unknown', from: clock.now() })
    let isFirst = typeof start !== 'string'
    let toldGap = Number.NEGATIVE_INFINITY
    try {
      while (!client.gone.aborted) {
        const page = await tail.page(position)
        if (page === null) {
          await tail.wait(BEAT_MS, client.gone)
        } else {
          if (page.gap) this.#tellGap(client, position, page.gap)
          // A stream that is days behind may be overtaken by the retention of its project between any two pages.
          const isOld = clock.now() * 1_000 - reachedUs(position) > SURELY_KEPT_US
          const { projectId } = wanted
          const deleted = isFirst || isOld ? await deletedAfter({ projectId, source, position }) : null
          if (deleted !== null && deleted > toldGap) {
            this.#tellGap(client, position, { reason: 'history_dropped', from: deleted })
            toldGap = deleted
          }
          isFirst = false
          const told = await this.#tell(client, page, wanted)
          shown = page.next.at === null ? page.next : null
          if (told === null) return this.#end(client, 'behind')
          if (told > 0) spokeAt = performance.now()
          position = page.next
        }
        if (shown !== null && performance.now() - spokeAt >= BEAT_MS) {
          client.send({ id: formatPosition(shown) })
          spokeAt = performance.now()
        }
        if (!(await client.hasRead())) return this.#end(client, 'behind')
      }
    } catch (error) {
      log.warn({ err: error }, 'event stream closed: cannot read history')
      this.#end(client, 'unavailable')
    }
  }

  #greet(client: EventClient, position: EventPosition): void {
    client.adviseRetry(RETRY_MS)
    const hello: EventsHello = { now: utc(this.#options.clock.now()), retryMs: RETRY_MS }
    client.send({ event: 'hello', id: formatPosition(position), data: JSON.stringify(hello) })
  }

  #tellGap(
    client: EventClient,
    position: EventPosition,
    { reason, from }: { reason: EventsGap['reason']; from: number },
  ) {
    const gap: EventsGap = { reason, from: utc(from) }
    client.send({ event: 'gap', id: formatPosition(position), data: JSON.stringify(gap) })
  }

  /** Sends the events of a page, as fast as the client reads, and returns how many there were; null if the client does not read. */
  async #tell(
    client: EventClient,
    page: HistoryPage,
    { projectId, filter }: Pick<Follower, 'projectId' | 'filter'>,
  ): Promise<number | null> {
    const wanted = page.rows.filter(
      (event) => (projectId === null || event.projectId === projectId) && isWanted(event, filter),
    )
    for (const event of wanted) {
      if (client.mustRead && !(await client.hasRead())) return null
      client.send({ id: formatPosition(page.positionAt(event)), ...this.#bodyOf(event) })
    }
    return wanted.length
  }

  #bodyOf(event: HistoryEvent): EventBody {
    const known = this.#texts.get(event)
    if (known) return known
    const document = eventOf(event)
    const body = { event: document.type, data: JSON.stringify(document) }
    this.#texts.set(event, body)
    return body
  }

  #end(client: EventClient, reason: EventsEnd['reason']): void {
    client.end('end', JSON.stringify({ reason } satisfies EventsEnd))
  }
}
