import pg from 'pg'
import type { Logger } from '../runtime/logger.ts'
import type { Service } from '../runtime/service.ts'
import type { Queryable } from '../store/database.ts'
import { sql } from '../store/sql.ts'
import { type DueHint, LocalWakeUps, type WakeUps } from './wake-ups.ts'

const CHANNEL = 'belfry_wake'
/** NOTIFY serialises commits, so hints are gathered and sent at most this often. */
const COALESCE_MS = 10
const RECONNECT_MS = { first: 200, longest: 5_000 }

interface Message {
  readonly from: string
  readonly due: readonly (readonly [shard: number, from: number, until: number])[]
  readonly ready: boolean
  readonly cancel: boolean
}

/**
 * Wake-ups between nodes on one PostgreSQL: this process hears its own at once, the others hear them
 * through a coalesced NOTIFY that carries, for each shard, from when to when there is something new. One connection listens; when it
 * breaks it is made again, and meanwhile everybody polls.
 */
export class PostgresWakeUps implements WakeUps, Service {
  readonly #local = new LocalWakeUps()
  readonly #options: { url: string; nodeId: string; db: Queryable; log: Logger }
  #due = new Map<number, { from: number; until: number }>()
  #ready = false
  #cancel = false
  #timer: NodeJS.Timeout | undefined
  #listener: pg.Client | undefined
  #reconnect: NodeJS.Timeout | undefined
  #backoffMs = RECONNECT_MS.first
  #stopped = false

  constructor(options: { url: string; nodeId: string; db: Queryable; log: Logger }) {
    this.#options = options
  }

  async start(): Promise<void> {
    await this.#listen()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    clearTimeout(this.#reconnect)
    await this.#listener?.end().catch(() => {})
  }

  announceDue(hints: readonly DueHint[]): void {
    this.#local.announceDue(hints)
    for (const { shard, at, until = at } of hints) {
      const known = this.#due.get(shard) ?? { from: at, until }
      this.#due.set(shard, { from: Math.min(at, known.from), until: Math.max(until, known.until) })
    }
    this.#sendSoon()
  }

  announceReady(): void {
    this.#local.announceReady()
    this.#ready = true
    this.#sendSoon()
  }

  announceCancel(): void {
    this.#local.announceCancel()
    this.#cancel = true
    this.#sendSoon()
  }

  onDue(listener: (hints: readonly DueHint[]) => void): void {
    this.#local.onDue(listener)
  }

  onReady(listener: () => void): void {
    this.#local.onReady(listener)
  }

  onCancel(listener: () => void): void {
    this.#local.onCancel(listener)
  }

  #sendSoon(): void {
    if (this.#timer || this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      const message: Message = {
        from: this.#options.nodeId,
        due: [...this.#due].map(([shard, { from, until }]) => [shard, from, until] as const),
        ready: this.#ready,
        cancel: this.#cancel,
      }
      this.#due = new Map()
      this.#ready = this.#cancel = false
      this.#options.db.run(sql`select pg_notify(${CHANNEL}, ${JSON.stringify(message)})`).catch(() => {
        // A hint that could not be sent is found by polling.
      })
    }, COALESCE_MS)
  }

  async #listen(): Promise<void> {
    if (this.#stopped) return
    const client = new pg.Client({
      connectionString: this.#options.url,
      application_name: 'belfry wake-ups',
      keepAlive: true,
    })
    client.on('error', () => {})
    client.on('end', () => this.#listenAgain(client))
    client.on('notification', ({ payload }) => this.#receive(payload ?? ''))
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
      this.#listener = client
      this.#backoffMs = RECONNECT_MS.first
    } catch (error) {
      this.#options.log.warn({ err: error }, 'cannot listen for wake-ups; polling until it works')
      await client.end().catch(() => {})
      this.#listenAgain(client)
    }
  }

  #listenAgain(broken: pg.Client): void {
    if (this.#stopped || (this.#listener && this.#listener !== broken) || this.#reconnect) return
    this.#listener = undefined
    this.#reconnect = setTimeout(
      () => {
        this.#reconnect = undefined
        void this.#listen()
      },
      this.#backoffMs * (0.5 + Math.random()),
    )
    this.#backoffMs = Math.min(RECONNECT_MS.longest, this.#backoffMs * 2)
  }

  #receive(payload: string): void {
    let message: Message
    try {
      message = JSON.parse(payload)
    } catch {
      return
    }
    if (message.from === this.#options.nodeId) return
    if (message.due.length > 0)
      this.#local.announceDue(message.due.map(([shard, at, until]) => ({ shard, at, until })))
    if (message.ready) this.#local.announceReady()
    if (message.cancel) this.#local.announceCancel()
  }
}
