/**
 * Cache of the sessions on this node. An entry is valid for one second, so every node obeys a sign-out, the removal of a member
 * or the end of a session within two seconds. Requests that last longer are notified when their session ends or its permissions
 * change. Uses are collected here and written about once a minute.
 */
import { hash, randomBytes } from 'node:crypto'
import { uuidv7 } from '../../core/ids.ts'
import { Loop } from '../../runtime/loop.ts'
import type { Service } from '../../runtime/service.ts'
import {
  deleteEnded,
  endSession,
  endSessionsBeyond,
  endSessionsOf,
  goodSessions,
  type Holder,
  insertSession,
  noteSeen,
  type SessionRow,
  type SessionRules,
} from '../../store/access/sessions.ts'
import type { Database, Queryable } from '../../store/database/database.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { WakeUps } from '../../transport/wake-ups.ts'
import { CallerMemory } from '../access/caller-memory.ts'

export interface SessionBookOptions {
  readonly db: Database
  readonly wakeUps: WakeUps
  readonly log: Logger
  readonly rules: SessionRules
}

/** Half the time that a sign-out may take to apply; the other half is for reading it. */
const FRESH_MS = 1_000
const MAX_SESSIONS_KNOWN = 10_000
const NOTE_SEEN_EVERY_MS = 60_000
const DELETE_ENDED_EVERY_MS = 600_000
/** Number of sessions that one statement checks, notes or deletes. */
const BATCH = 1_000
/** Maximum number of sessions of one person, or with one key. Another sign-in ends the least recently used one. */
const MAX_SESSIONS = 100
const TOKEN_BYTES = 32
const TOKEN = /^[\w-]{43}$/

export class SessionBook implements Service {
  readonly #options: SessionBookOptions
  readonly #byHash = new CallerMemory<SessionRow>({ freshMs: FRESH_MS, max: MAX_SESSIONS_KNOWN })
  /** Listeners for changes of a session, by the hash of its token, with what the session was allowed when they were added. */
  readonly #watched = new Map<string, { readonly seen: string; readonly listeners: Set<() => void> }>()
  #used = new Set<string>()
  readonly #loops: readonly Loop[]
  readonly #watch: Loop

  constructor(options: SessionBookOptions) {
    this.#options = options
    const { log, wakeUps } = options
    this.#watch = new Loop({
      name: 'session watch',
      everyMs: FRESH_MS,
      log,
      runOnce: () => this.#tellChanged(),
    })
    this.#loops = [
      this.#watch,
      new Loop({
        name: 'session uses',
        everyMs: NOTE_SEEN_EVERY_MS,
        log,
        runOnce: () => this.#writeUses(),
      }),
      new Loop({
        name: 'ended sessions',
        everyMs: DELETE_ENDED_EVERY_MS,
        log,
        runOnce: () => this.deleteEnded(),
      }),
    ]
    wakeUps.onAccess(() => this.#lookAgain())
  }

  start(): void {
    for (const loop of this.#loops) loop.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()))
    await this.#writeUses().catch(() => {})
  }

  /** The maximum lifetime of a session, for the cookie. */
  get maxAgeSeconds(): number {
    return this.#options.rules.maxHours * 3_600
  }

  /** Returns the session of a token; null if it is not valid. */
  find(token: string): SessionRow | null | Promise<SessionRow | null> {
    if (!TOKEN.test(token)) return null
    const tokenHash = hashOf(token)
    return this.#byHash.get(tokenHash, async () => {
      const { db, rules } = this.#options
      const [row] = await db.run(goodSessions([tokenHash], rules))
      return row ?? null
    })
  }

  noteUse({ id }: SessionRow): void {
    this.#used.add(id)
  }

  /** Calls the listener once the session has ended or its permissions have changed. Returns a function that unsubscribes. */
  onChange(session: SessionRow, listener: () => void): () => void {
    const { tokenHash } = session
    const watched = this.#watched.get(tokenHash) ?? { seen: shapeOf(session), listeners: new Set() }
    watched.listeners.add(listener)
    this.#watched.set(tokenHash, watched)
    return () => {
      watched.listeners.delete(listener)
      if (watched.listeners.size === 0 && this.#watched.get(tokenHash) === watched)
        this.#watched.delete(tokenHash)
    }
  }

  /** Begins a session and returns its token, of which only the hash is stored. */
  async begin(tx: Queryable, holder: Holder): Promise<{ readonly id: string; readonly token: string }> {
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const id = uuidv7()
    await tx.run(insertSession({ id, tokenHash: hashOf(token), ...holder }))
    await tx.run(endSessionsBeyond(holder, MAX_SESSIONS))
    return { id, token }
  }

  /** Ends a session; returns whether it existed. */
  async end(tx: Queryable, id: string): Promise<boolean> {
    return (await tx.run(endSession(id))).length > 0
  }

  /** Ends all sessions of a person, or all with a key; returns how many there were. */
  async endAll(tx: Queryable, holder: Holder): Promise<number> {
    return (await tx.run(endSessionsOf(holder))).length
  }

  /** Announces a change to all nodes. Call it after the commit. */
  announce(): void {
    this.#options.wakeUps.announceAccess()
  }

  /** Deletes sessions that have expired. */
  async deleteEnded(): Promise<undefined> {
    const { db, rules } = this.#options
    let deleted = BATCH
    while (deleted === BATCH) deleted = (await db.run(deleteEnded(rules, BATCH))).length
  }

  #lookAgain(): void {
    this.#byHash.forget()
    this.#watch.wake()
  }

  async #tellChanged(): Promise<undefined> {
    const { db, rules } = this.#options
    const hashes = [...this.#watched.keys()]
    for (let from = 0; from < hashes.length; from += BATCH) {
      const asked = hashes.slice(from, from + BATCH)
      const rows = await db.run(goodSessions(asked, rules))
      const shapes = new Map(rows.map((row) => [row.tokenHash, shapeOf(row)]))
      for (const tokenHash of asked) {
        const watched = this.#watched.get(tokenHash)
        if (!watched || watched.seen === shapes.get(tokenHash)) continue
        this.#watched.delete(tokenHash)
        for (const listener of watched.listeners) listener()
      }
    }
  }

  async #writeUses(): Promise<undefined> {
    const ids = [...this.#used]
    this.#used = new Set()
    for (let from = 0; from < ids.length; from += BATCH)
      await this.#options.db.run(noteSeen(ids.slice(from, from + BATCH)))
  }
}

const hashOf = (token: string): string => hash('sha256', token, 'base64')

/** Returns what the permissions of a session depend on, to detect changes. */
const shapeOf = ({ id, roles }: SessionRow): string => `${id} ${JSON.stringify(roles)}`
