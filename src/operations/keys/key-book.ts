/**
 * Cache of the API keys on this node. An entry is valid for one second, so every node obeys a revocation within two seconds,
 * even if the wake-up that announces it is lost. Requests that last longer are notified when their key ends, or when the first
 * key is created if they were sent without one. Uses are collected here and written about once a minute.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import { hashOfKey, isApiKey } from '../../core/access/api-key.ts'
import type { Reach } from '../../core/access/role.ts'
import { type Network, parseNetwork } from '../../core/values/network.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Loop } from '../../runtime/loop.ts'
import type { Service } from '../../runtime/service.ts'
import { ShortMemory } from '../../runtime/short-memory.ts'
import {
  anyAdmin,
  anyKey,
  findGoodKey,
  type GoodKeyRow,
  goodAmong,
  goodKeyById,
  noteUses,
} from '../../store/access/api-keys.ts'
import type { Queryable } from '../../store/database/database.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { WakeUps } from '../../transport/wake-ups.ts'
import { CallerMemory } from '../access/caller-memory.ts'
import type { Actor } from '../context.ts'
import { adminKeyFrom, isAdminKeyId } from './admin-key.ts'

export interface KeyBookOptions {
  readonly db: Queryable
  readonly wakeUps: WakeUps
  readonly clock: Clock
  readonly log: Logger
  /** A key of the installation that exists only in the node's configuration. */
  readonly adminKey: string | null
  /** Whether only this machine can reach the server: then it is open until the installation has a key. */
  readonly isLoopback: boolean
}

/** A valid key. */
export interface GoodKey extends Pick<GoodKeyRow, 'id' | 'name' | 'role' | 'projectId'> {
  readonly reach: Reach
  /** The parsed networks of its reach. */
  readonly networks: readonly Network[] | null
}

/** Returns the actor of what is done with a key. */
export const actorOfKey = ({ id, name, role, projectId }: GoodKey, address: string | null): Actor => ({
  kind: 'key',
  ...{ id, name, role, projectId, address },
})

/** Half the time that a revocation may take to apply; the other half is for reading it. */
const FRESH_MS = 1_000
const MAX_KEYS_KNOWN = 10_000
const NOTE_USES_EVERY_MS = 60_000
/** Number of keys that one statement checks, or whose uses it writes. */
const BATCH = 1_000

export class KeyBook implements Service {
  readonly #options: KeyBookOptions
  readonly #byHash = new CallerMemory<GoodKey>({ freshMs: FRESH_MS, max: MAX_KEYS_KNOWN })
  readonly #byId = new ShortMemory<GoodKey | null>({ freshMs: FRESH_MS, max: MAX_KEYS_KNOWN })
  readonly #adminHash: Buffer | null
  readonly #adminKey: GoodKey | null
  /** Listeners for the end of a key, by its id; those for the end of the time without any key, by null. */
  readonly #listeners = new Map<string | null, Set<() => void>>()
  /** Uses that were not written yet, by the id of the key. */
  #uses = new Map<string, number>()
  readonly #watch: Loop
  readonly #note: Loop
  /** Null if never read. Keys are never deleted, so once there is one the answer never changes. */
  #hasKeys: { readonly value: boolean; readonly readAt: number } | null = null

  constructor(options: KeyBookOptions) {
    this.#options = options
    const { adminKey, log, wakeUps } = options
    this.#adminHash = adminKey === null ? null : digest(adminKey)
    this.#adminKey = adminKey === null ? null : adminKeyFrom(adminKey)
    this.#watch = new Loop({ name: 'key watch', everyMs: FRESH_MS, log, runOnce: () => this.#endRevoked() })
    this.#note = new Loop({
      name: 'key uses',
      everyMs: NOTE_USES_EVERY_MS,
      log,
      runOnce: () => this.#writeUses(),
    })
    wakeUps.onAccess(() => this.#lookAgain())
  }

  start(): void {
    this.#watch.start()
    this.#note.start()
  }

  async stop(): Promise<void> {
    await Promise.all([this.#watch.stop(), this.#note.stop()])
    await this.#writeUses().catch(() => {})
  }

  /** Returns whether every caller on this machine may do everything, because no key exists yet. */
  async isOpen(): Promise<boolean> {
    const { isLoopback } = this.#options
    return isLoopback && !(await this.hasKeys())
  }

  /** Returns whether the installation has, or ever had, a key. */
  async hasKeys(): Promise<boolean> {
    if (this.#adminHash !== null) return true
    const known = this.#hasKeys
    if (known && (known.value || performance.now() - known.readAt < FRESH_MS)) return known.value
    return this.#readHasKeys()
  }

  async #readHasKeys(): Promise<boolean> {
    const readAt = performance.now()
    const value = (await this.#options.db.run(anyKey())).length > 0
    this.#hasKeys = { value, readAt }
    return value
  }

  /** Returns whether somebody can administer the installation: with a valid key or, if people can sign in, as a member. */
  async hasAdmin({ canBeMembers }: { canBeMembers: boolean }): Promise<boolean> {
    const others = { areThere: this.#adminHash !== null, canBeMembers }
    return (await this.#options.db.run(anyAdmin(others))).length > 0
  }

  /** Returns the key with the given text; null if it is not valid. */
  find(text: string): GoodKey | null | Promise<GoodKey | null> {
    const hash = hashOfKey(text)
    if (this.#isAdminKey(hash)) return this.#adminKey
    return isApiKey(text) ? this.findByHash(hash) : null
  }

  /** Returns the key with this hash, in base64, which was valid before; null if it no longer is. */
  findByHash(hash: string): GoodKey | null | Promise<GoodKey | null> {
    if (this.#isAdminKey(hash)) return this.#adminKey
    return this.#byHash.get(hash, async () => {
      const [row] = await this.#options.db.run(findGoodKey(Buffer.from(hash, 'base64')))
      return row ? goodKey(row) : null
    })
  }

  /** Returns the key with this id, which was valid before; null if it no longer is. */
  findById(id: string): GoodKey | null | Promise<GoodKey | null> {
    if (isAdminKeyId(id)) return this.#adminKey?.id === id ? this.#adminKey : null
    return this.#byId.get(id, async () => {
      const [row] = await this.#options.db.run(goodKeyById(id))
      return row ? goodKey(row) : null
    })
  }

  noteUse(id: string): void {
    if (!isAdminKeyId(id)) this.#uses.set(id, this.#options.clock.now())
  }

  /**
   * Calls the listener once the key is no longer valid or, if `id` is null, once the server is no longer open. Returns a function
   * that unsubscribes.
   */
  onEnd(id: string | null, listener: () => void): () => void {
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id)
    }
  }

  #isAdminKey(hash: string): boolean {
    return this.#adminHash !== null && timingSafeEqual(this.#adminHash, Buffer.from(hash, 'base64'))
  }

  #lookAgain(): void {
    this.#byHash.forget()
    this.#byId.forget()
    if (this.#hasKeys?.value === false) this.#hasKeys = null
    this.#watch.wake()
  }

  async #endRevoked(): Promise<undefined> {
    if (this.#listeners.has(null) && (await this.#readHasKeys())) this.#end(null)
    const watched = [...this.#listeners.keys()].filter((id) => id !== null && !isAdminKeyId(id)) as string[]
    for (let from = 0; from < watched.length; from += BATCH) {
      const ids = watched.slice(from, from + BATCH)
      const good = new Set((await this.#options.db.run(goodAmong(ids))).map(({ id }) => id))
      for (const id of ids) if (!good.has(id)) this.#end(id)
    }
  }

  #end(id: string | null): void {
    const listeners = this.#listeners.get(id)
    this.#listeners.delete(id)
    for (const listener of listeners ?? []) listener()
  }

  async #writeUses(): Promise<undefined> {
    const uses = [...this.#uses].map(([id, at]) => ({ id, at }))
    this.#uses = new Map()
    for (let from = 0; from < uses.length; from += BATCH)
      await this.#options.db.run(noteUses(uses.slice(from, from + BATCH)))
  }
}

const goodKey = ({ id, name, role, projectId, ...reach }: GoodKeyRow): GoodKey => ({
  id,
  name,
  role,
  projectId,
  reach,
  networks: reach.networks?.flatMap((text) => parseNetwork(text) ?? []) ?? null,
})

const digest = (text: string): Buffer => Buffer.from(hash('sha256', text, 'buffer'))
