/** All clients that watch changes on this node: admits them, sends them the changes that concern them, and ends their streams. */

import type { ServerResponse } from 'node:http'
import { Refusal } from '../../../core/errors.ts'
import { utc } from '../../../core/values/utc.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { ChangeFeeds } from './change-feed.ts'
import { EventStream, type StreamEvent } from './event-stream.ts'
import type { Changes, Hello, Reload } from './schemas.ts'

export const MAX_STREAMS = 500
/** Browsers reconnect after this time. */
const RETRY_MS = 2_000
/** A client that was disconnected for longer than this has to read everything again. */
const RESUMABLE_MS = 60_000

/** A client that wants to watch changes. */
export interface Watcher {
  readonly response: ServerResponse
  readonly headers: Readonly<Record<string, string>>
  readonly projectId: string
  /** The task to watch; null for all tasks. */
  readonly taskId: string | null
  /** The id of the last event that the client received on an earlier stream. */
  readonly lastEventId: string | null
}

export interface StreamsOptions {
  readonly feeds: Pick<ChangeFeeds, 'of' | 'stop'>
  readonly clock: Clock
  readonly limit: number
}

export class Streams {
  readonly #feeds: StreamsOptions['feeds']
  readonly #clock: Clock
  readonly #limit: number
  readonly #open = new Set<EventStream>()
  /** The text of changes, so that changes for all clients are serialised once. */
  readonly #texts = new WeakMap<Changes, string>()
  #expected = 0
  #isClosed = false

  constructor({ feeds, clock, limit }: StreamsOptions) {
    this.#feeds = feeds
    this.#clock = clock
    this.#limit = limit
  }

  /** Opens a stream. It may be rejected before anything is written. */
  async open(watcher: Watcher, take: () => void): Promise<void> {
    if (this.#isClosed || this.#open.size + this.#expected >= this.#limit)
      throw new Refusal(
        'too_many_streams',
        `This node serves at most ${this.#limit} streams at once. Try again later, or connect to another node.`,
      )
    let stream: EventStream | undefined
    this.#expected++
    const since = resumeFrom(watcher.lastEventId, this.#clock.now())
    const feed = this.#feeds.of(watcher.projectId)
    const stopListening = await feed
      .listen((changes, until) => stream && this.#tell(stream, watcher.taskId, changes, until))
      .finally(() => this.#expected--)
    try {
      const missed = typeof since === 'number' ? await feed.since(since) : since
      if (watcher.response.destroyed || this.#isClosed)
        throw new Refusal('unavailable', 'This node is shutting down. Connect to another node.')
      take()
      const opened = new EventStream({
        response: watcher.response,
        headers: watcher.headers,
        reload: () => this.#reload('behind'),
        onEnd: () => {
          stopListening()
          this.#open.delete(opened)
        },
      })
      stream = opened
      this.#open.add(opened)
      this.#greet(opened)
      if (missed === null) opened.send(this.#reload('too_old'))
      else if (missed !== 'nothing') this.#tell(opened, watcher.taskId, missed, Date.parse(missed.now))
    } catch (error) {
      stopListening()
      throw error
    }
  }

  /** Ends all streams because the server stops; browsers reconnect by themselves, to another node. */
  close(): void {
    this.#isClosed = true
    for (const stream of [...this.#open]) stream.end()
    this.#feeds.stop()
  }

  #greet(stream: EventStream): void {
    stream.adviseRetry(RETRY_MS)
    const now = this.#clock.now()
    const hello: Hello = { now: utc(now), retryMs: RETRY_MS }
    stream.send({ event: 'hello', data: JSON.stringify(hello), id: Math.floor(now) })
  }

  #reload(reason: Reload['reason']): StreamEvent {
    const now = this.#clock.now()
    const reload: Reload = { now: utc(now), reason }
    return { event: 'reload', data: JSON.stringify(reload), id: Math.floor(now) }
  }

  #tell(stream: EventStream, taskId: string | null, changes: Changes, until: number): void {
    const data = taskId === null ? this.#textOf(changes) : textAbout(changes, taskId)
    if (data !== null) stream.send({ event: 'changes', data, id: Math.floor(until) })
  }

  #textOf(changes: Changes): string {
    const text = this.#texts.get(changes) ?? JSON.stringify(changes)
    this.#texts.set(changes, text)
    return text
  }
}

/** Returns the changes that concern one task, as text; null if there are none. */
function textAbout(changes: Changes, taskId: string): string | null {
  const runs = changes.runs.filter((run) => run.taskId === taskId)
  const tasks = changes.tasks.filter(({ id }) => id === taskId)
  const deletedTasks = changes.deletedTasks.filter((id) => id === taskId)
  if (changes.isComplete && runs.length + tasks.length + deletedTasks.length === 0) return null
  return JSON.stringify({ ...changes, runs, tasks, deletedTasks, circuits: [] } satisfies Changes)
}

/** Returns the instant from which a client must be sent changes; `nothing` if it is new, null if that instant is too long ago. */
function resumeFrom(lastEventId: string | null, now: number): number | 'nothing' | null {
  if (lastEventId === null || lastEventId === '') return 'nothing'
  const at = /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : Number.NaN
  return Math.abs(now - at) <= RESUMABLE_MS ? at : null
}
