/**
 * All clients that follow logs of runs on this node: admits them, sends them new lines, and ends their streams when the run has
 * ended.
 */

import type { ServerResponse } from 'node:http'
import { Refusal } from '../../../core/errors.ts'
import {
  behindRow,
  formatLogPosition,
  LOG_START,
  type LogLine,
  type LogPosition,
} from '../../../core/run/log-line.ts'
import { utc } from '../../../core/values/utc.ts'
import type { Context } from '../../../operations/context.ts'
import {
  findLog,
  type LogFilter,
  type LogPage,
  readLines,
  wantedLines,
} from '../../../operations/runs/read-log.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Queryable } from '../../../store/database/database.ts'
import type { RunWithLog } from '../../../store/logs/read.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import { BEAT_MS } from '../../http/begin-stream.ts'
import { EventClient } from '../events/event-client.ts'
import type { EventsHello } from '../events/schemas.ts'
import { LogFeed, type ToldOmitted } from './log-feed.ts'
import { presentLine } from './log-present.ts'
import type { LogEnd } from './log-schemas.ts'

export const MAX_LOG_STREAMS = 500
/** Maximum number of lines per event. */
const LINES_AN_EVENT = 500
/** Browsers reconnect after this time. */
const RETRY_MS = 2_000

/** A client that wants to follow the log of a run. */
export interface LogFollower {
  readonly response: ServerResponse
  readonly headers: Readonly<Record<string, string>>
  readonly context: Context
  readonly run: RunWithLog
  readonly after: LogPosition
  readonly filter: LogFilter
}

export interface LogFollowersOptions {
  readonly db: Queryable
  readonly clock: Clock
  readonly log: Logger
  readonly limit: number
}

export class LogFollowers {
  readonly #options: LogFollowersOptions
  readonly #feed: LogFeed
  readonly #open = new Set<EventClient>()
  #isClosed = false

  constructor(options: LogFollowersOptions) {
    this.#options = options
    this.#feed = new LogFeed(options.db, options.log)
  }

  /** Opens a stream. It may be rejected before anything is written. */
  open(follower: LogFollower, take: () => void): void {
    const { limit } = this.#options
    if (this.#isClosed || this.#open.size >= limit)
      throw new Refusal(
        'too_many_streams',
        `This node serves at most ${limit} log streams at once. Try again later, or connect to another node.`,
      )
    take()
    const client = new EventClient(follower)
    this.#open.add(client)
    void this.#serve(client, follower).finally(() => this.#open.delete(client))
  }

  /** Ends all streams because the server stops; clients reconnect by themselves, to another node. */
  close(): void {
    this.#isClosed = true
    for (const client of [...this.#open]) this.#end(client, { reason: 'stopping' })
  }

  async #serve(client: EventClient, follower: LogFollower): Promise<void> {
    try {
      this.#greet(client, follower.after)
      const end = await this.#follow(client, follower)
      if (end) this.#end(client, end)
    } catch (error) {
      this.#options.log.warn({ err: error }, 'log stream closed: cannot read the log')
      this.#end(client, { reason: 'unavailable' })
    }
  }

  /** Sends lines until the run has ended or the client has disconnected; returns why the stream ends. */
  async #follow(client: EventClient, { context, run, filter, after }: LogFollower): Promise<LogEnd | null> {
    const { db } = this.#options
    let position = after
    let omitted: ToldOmitted | null = null
    const tell = (lines: readonly LogLine[], end: LogPosition) => {
      position = end
      omitted = omittedIn(lines) ?? omitted
      if (lines.length > 0)
        client.send({
          event: 'lines',
          id: formatLogPosition(end),
          data: JSON.stringify(lines.map(presentLine)),
        })
    }
    // A client that is far behind, at first or because it read slowly, gets pages that are read for it alone.
    for (let isBehind = true; !client.gone.aborted; ) {
      if (isBehind) {
        const page: LogPage = await readLines(db, run, { after: position, limit: LINES_AN_EVENT, filter })
        tell(page.lines, page.end)
        isBehind = page.next !== null
      } else {
        const news = await this.#feed.next({ run, after: position, omitted }, BEAT_MS, client.gone)
        const end = news?.rows.findLast((row) => row.omittedLines === null)
        const lines = news?.rows.flatMap((row) => wantedLines(row, filter)) ?? []
        if (news) tell(lines, end ? behindRow(end) : position)
        else client.send({ id: formatLogPosition(position) })
        if (news?.isOver) return { reason: 'ended', state: (await findLog(context, run.runId)).state }
        isBehind = client.mustRead
      }
      if (!(await client.hasRead())) return { reason: 'behind' }
    }
    return null
  }

  #greet(client: EventClient, after: LogPosition): void {
    client.adviseRetry(RETRY_MS)
    const hello: EventsHello = { now: utc(this.#options.clock.now()), retryMs: RETRY_MS }
    const id = after === LOG_START ? '' : formatLogPosition(after)
    client.send({ event: 'hello', id, data: JSON.stringify(hello) })
  }

  #end(client: EventClient, end: LogEnd): void {
    client.end('end', JSON.stringify(end))
  }
}

/** Returns the omitted lines that the last line about them states. */
function omittedIn(lines: readonly LogLine[]): ToldOmitted | null {
  const line = lines.findLast(({ omitted }) => omitted !== null)
  return line?.omitted ? { fence: line.position.fence, lines: line.omitted.lines } : null
}
