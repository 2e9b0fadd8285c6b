import pg from 'pg'
import { SHARD_COUNT } from '../../core/ids.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Service } from '../../runtime/service.ts'
import type { Queryable } from '../../store/database/database.ts'
import { sql } from '../../store/database/sql.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { type DueHint, LocalWakeUps, type WakeUps } from '../wake-ups.ts'

export interface PostgresWakeUpsOptions {
  readonly nodeId: string
  /** The connection that wake-ups are sent through. */
  readonly db: Queryable
  /** Where wake-ups are received: its own session. Null behind a pooler that provides none. */
  readonly listenUrl: string | null
  readonly clock: Clock
  readonly log: Logger
}

const CHANNEL = 'belfry_wake'
/** NOTIFY serialises commits, so hints are collected and sent at most this often. */
const COALESCE_MS = 10
/** A failed send is retried after this time. */
const SEND_AGAIN_MS = 500
const RECONNECT_MS = { first: 200, longest: 5_000 }
/** How often the listening connection is checked, and how long it may take to respond. */
const CHECK = { everyMs: 10_000, withinMs: 5_000 }
/** While no wake-ups can be received, all listeners are woken this often. */
const DEAF_EVERY_MS = 1_000
/** And told to look back this far: the connection may have been broken for that long before it was noticed. */
const UNNOTICED_MS = CHECK.everyMs + CHECK.withinMs + DEAF_EVERY_MS

interface Message {
  readonly from: string
  readonly due: readonly (readonly [shard: number, from: number, until: number])[]
  readonly ready: boolean
  readonly queues: boolean
  /** Nodes of older builds do not send it. */
  readonly targets?: boolean
  readonly cancel: boolean
  /** Nodes of older builds do not send it. */
  readonly keys?: boolean
}

/**
 * Wake-ups between nodes on one PostgreSQL. This process receives its own at once; other nodes receive them through a coalesced
 * NOTIFY that contains, for each shard, the range in which there are new rows. One connection listens. If it breaks it is
 * reconnected; meanwhile all listeners in this process are woken periodically, and afterwards they look at everything that
 * may have changed. Without a `listenUrl` wake-ups are only sent, and listeners rely on polling.
 */
export class PostgresWakeUps implements WakeUps, Service {
  readonly #local = new LocalWakeUps()
  readonly #options: PostgresWakeUpsOptions
  #due = new Map<number, { from: number; until: number }>()
  #ready = false
  #queues = false
  #targets = false
  #cancel = false
  #keys = false
  #timer: NodeJS.Timeout | undefined
  #listener: pg.Client | undefined
  #reconnect: NodeJS.Timeout | undefined
  #check: NodeJS.Timeout | undefined
  #deaf: NodeJS.Timeout | undefined
  #backoffMs = RECONNECT_MS.first
  #stopped = false

  constructor(options: PostgresWakeUpsOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    await this.#listen()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const timer of [this.#timer, this.#reconnect, this.#check, this.#deaf]) clearTimeout(timer)
    await this.#listener?.end().catch(() => {})
  }

  announceDue(hints: readonly DueHint[]): void {
    this.#local.announceDue(hints)
    this.#gather(hints)
    this.#sendSoon()
  }

  announceReady(): void {
    this.#local.announceReady()
    this.#ready = true
    this.#sendSoon()
  }

  announceQueues(): void {
    this.#local.announceQueues()
    this.#queues = true
    this.#sendSoon()
  }

  announceTargets(): void {
    this.#local.announceTargets()
    this.#targets = true
    this.#sendSoon()
  }

  announceCancel(): void {
    this.#local.announceCancel()
    this.#cancel = true
    this.#sendSoon()
  }

  announceAccess(): void {
    this.#local.announceAccess()
    this.#keys = true
    this.#sendSoon()
  }

  onDue(listener: (hints: readonly DueHint[]) => void): void {
    this.#local.onDue(listener)
  }

  onReady(listener: () => void): void {
    this.#local.onReady(listener)
  }

  onQueues(listener: () => void): void {
    this.#local.onQueues(listener)
  }

  onTargets(listener: () => void): void {
    this.#local.onTargets(listener)
  }

  onCancel(listener: () => void): void {
    this.#local.onCancel(listener)
  }

  onAccess(listener: () => void): void {
    this.#local.onAccess(listener)
  }

  #gather(hints: readonly DueHint[]): void {
    for (const { shard, at, until = at } of hints) {
      const known = this.#due.get(shard) ?? { from: at, until }
      this.#due.set(shard, { from: Math.min(at, known.from), until: Math.max(until, known.until) })
    }
  }

  #sendSoon(afterMs = COALESCE_MS): void {
    if (this.#timer || this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#send()
    }, afterMs)
  }

  async #send(): Promise<void> {
    const message: Message = {
      from: this.#options.nodeId,
      due: [...this.#due].map(([shard, { from, until }]) => [shard, from, until] as const),
      ready: this.#ready,
      queues: this.#queues,
      targets: this.#targets,
      cancel: this.#cancel,
      keys: this.#keys,
    }
    this.#due = new Map()
    this.#ready = this.#queues = this.#targets = this.#cancel = this.#keys = false
    try {
      await this.#options.db.run(sql`select pg_notify(${CHANNEL}, ${JSON.stringify(message)})`)
    } catch {
      // Polling finds these too, but perhaps much later.
      this.#gather(message.due.map(([shard, at, until]) => ({ shard, at, until })))
      this.#ready ||= message.ready
      this.#queues ||= message.queues
      this.#targets ||= message.targets ?? false
      this.#cancel ||= message.cancel
      this.#keys ||= message.keys ?? false
      this.#sendSoon(SEND_AGAIN_MS)
    }
  }

  async #listen(): Promise<void> {
    const { listenUrl, log } = this.#options
    if (this.#stopped || listenUrl === null) return
    const client = new pg.Client({
      connectionString: listenUrl,
      application_name: 'belfry wake-ups',
      connectionTimeoutMillis: CHECK.withinMs,
      query_timeout: CHECK.withinMs,
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
      this.#hearAgain()
      this.#checkLater(client)
    } catch (error) {
      log.warn({ err: error }, 'cannot listen for wake-ups; polling instead')
      await client.end().catch(() => {})
      this.#listenAgain(client)
    }
  }

  #listenAgain(broken: pg.Client): void {
    if (this.#stopped || (this.#listener && this.#listener !== broken) || this.#reconnect) return
    this.#listener = undefined
    clearTimeout(this.#check)
    this.#deaf ??= setInterval(() => {
      const now = this.#options.clock.now()
      this.#lookForYourselves(now - UNNOTICED_MS, now)
    }, DEAF_EVERY_MS)
    this.#reconnect = setTimeout(
      () => {
        this.#reconnect = undefined
        void this.#listen()
      },
      this.#backoffMs * (0.5 + Math.random()),
    )
    this.#backoffMs = Math.min(RECONNECT_MS.longest, this.#backoffMs * 2)
  }

  /** Wake-ups sent while nothing could be received are lost, and may have concerned any instant. */
  #hearAgain(): void {
    if (!this.#deaf) return
    clearInterval(this.#deaf)
    this.#deaf = undefined
    this.#lookForYourselves(0, Number.MAX_SAFE_INTEGER)
  }

  #lookForYourselves(at: number, until: number): void {
    this.#local.announceDue(Array.from({ length: SHARD_COUNT }, (_, shard) => ({ shard, at, until })))
    this.#local.announceQueues()
    this.#local.announceTargets()
    this.#local.announceReady()
    this.#local.announceCancel()
    this.#local.announceAccess()
  }

  /** Checks the connection: one that was cut off silently would stay silent without being noticed. */
  #checkLater(client: pg.Client): void {
    this.#check = setTimeout(async () => {
      try {
        await client.query('select 1')
        if (client === this.#listener && !this.#stopped) this.#checkLater(client)
      } catch {
        await client.end().catch(() => {})
      }
    }, CHECK.everyMs)
    this.#check.unref()
  }

  #receive(payload: string): void {
    try {
      this.#heed(JSON.parse(payload))
    } catch {
      // Anyone with access to the database can send on the channel, so messages that cannot be parsed are ignored.
    }
  }

  #heed(message: Message): void {
    if (message.from === this.#options.nodeId) return
    if (message.due.length > 0)
      this.#local.announceDue(message.due.map(([shard, at, until]) => ({ shard, at, until })))
    if (message.queues) this.#local.announceQueues()
    if (message.targets) this.#local.announceTargets()
    if (message.ready) this.#local.announceReady()
    if (message.cancel) this.#local.announceCancel()
    if (message.keys) this.#local.announceAccess()
  }
}
