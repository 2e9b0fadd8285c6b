/**
 * The keys of a node, and the values that it reads with them. The database stores the fingerprints of all keys in use: a node
 * that does not have all of them reports this in its log and in the list of nodes, and stops offering to perform runs that
 * refer to secrets. It notices by itself when its key file, or the keys in use, change.
 */
import { LRUCache } from 'lru-cache'
import { Refusal } from '../core/errors.ts'
import type { KeyRing } from '../core/secret/key-ring.ts'
import type { NamedValue } from '../core/secret/patterns.ts'
import type { Redactor } from '../core/secret/redactor.ts'
import { offeredLabels } from '../core/secret/secrets-label.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Queryable } from '../store/database/database.ts'
import {
  keysInUse,
  noteSecretsState,
  type SecretsState,
  signingSecretsStored,
} from '../store/secrets/keys.ts'
import { readEverySecret, readSecrets, type StoredVersion } from '../store/secrets/secrets.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { KeySource } from './key-source.ts'
import { Redactors } from './redactors.ts'

export interface VaultOptions {
  readonly db: Queryable
  readonly log: Logger
  readonly source: KeySource
  /** The node whose row stores the state of the keys; null if there is none. */
  readonly nodeId: string | null
  /** The other labels that the node offers. */
  readonly labels: readonly string[]
}

/** Interval at which keys are compared with those in use, and the key file is checked. */
export const CHECK_KEYS_EVERY_MS = 2_000
/** All nodes use a new value of a secret after this time. */
export const VALUES_KEPT_MS = 1_000
const MAX_VALUES_KEPT = 1_000

/** The values of some secrets, or why they could not be read. */
export type ReadValues =
  | { readonly ok: true; readonly values: ReadonlyMap<string, string> }
  | { readonly ok: false; readonly reason: 'missing' | 'damaged'; readonly name: string }
  /** This node does not have the key; another one may. */
  | { readonly ok: false; readonly reason: 'no_key' }

export class Vault extends LoopService {
  readonly #options: VaultOptions
  readonly #listeners: (() => void)[] = []
  readonly #kept = new LRUCache<string, Promise<ReadValues>>({ max: MAX_VALUES_KEPT, ttl: VALUES_KEPT_MS })
  readonly #redactors = new Redactors(VALUES_KEPT_MS)
  #offered: readonly string[] = []
  #ring: KeyRing | null = null
  #state: SecretsState = 'no_key'
  #missing: readonly string[] = []
  #isNoted = false
  #isInUse = false
  #isSigningSealed = false
  #isInMail = false
  #warnedOf: string | null = null

  constructor(options: VaultOptions) {
    super({ name: 'secrets keys', everyMs: CHECK_KEYS_EVERY_MS, log: options.log })
    this.#options = options
  }

  /** The state is known when this returns. Throws if keys exist but cannot be read, so that the node does not start. */
  override async start(): Promise<void> {
    await this.runOnce()
    super.start()
  }

  get state(): SecretsState {
    return this.#state
  }

  /** Whether this node can read every secret. */
  get isReady(): boolean {
    return this.#state === 'ready'
  }

  /** Returns whether anything in the database is encrypted. Once true, the result stays true. */
  async isInUse(): Promise<boolean> {
    this.#isInUse ||= (await this.#options.db.run(keysInUse())).length > 0
    return this.#isInUse
  }

  /** The labels that the node currently offers. */
  get labels(): readonly string[] {
    return offeredLabels([...this.#options.labels, ...this.#offered], this.isReady)
  }

  /** Sets the labels of capabilities that the node has detected. */
  async offer(labels: readonly string[]): Promise<void> {
    this.#offered = labels
    this.#isNoted = false
    await this.#enter(this.#state)
  }

  /** Whether this node can sign requests as projects require. If not, it must send none. */
  get canSign(): boolean {
    return this.isReady || !this.#isSigningSealed
  }

  /** Whether it can perform runs: without its keys, it can neither sign requests nor send mail as projects require. */
  get canPerform(): boolean {
    return this.canSign && (this.isReady || !this.#isInMail)
  }

  /** Calls the listener when the state has changed. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Reads keys and fingerprints again; tests call this instead of waiting. */
  async runOnce(): Promise<undefined> {
    this.#kept.purgeStale()
    this.#redactors.sweep()
    const { db, source } = this.#options
    const inUse = (await db.run(keysInUse())).map(({ fingerprint }) => fingerprint)
    this.#isInUse ||= inUse.length > 0
    let keys = source.read()
    // If keys are in use but this node has none, the file was lost: a new key would hide that.
    if (keys.ring === null && inUse.length === 0 && source.make()) keys = source.read()
    this.#warnOfOpenFile(keys.openTo)
    const had = this.#fingerprints
    this.#ring = keys.ring
    if (this.#fingerprints.join() !== had.join()) this.#isNoted = false
    const couldPerform = this.canPerform
    const [stored] = await db.run(signingSecretsStored())
    this.#isSigningSealed = stored?.isSealed ?? false
    this.#isInMail = stored?.isInMail ?? false
    if (this.canPerform !== couldPerform) this.#isNoted = false
    this.#missing = inUse.filter((fingerprint) => !keys.ring?.holds(fingerprint))
    await this.#enter(keys.ring === null ? 'no_key' : this.#missing.length > 0 ? 'other_key' : 'ready')
  }

  /** Returns the ring to encrypt with; throws if this node cannot read everything that is encrypted. */
  requireRing(): KeyRing {
    if (this.#ring !== null && this.isReady) return this.#ring
    throw new Refusal('secrets_unavailable', `${this.#sentence()} ${ADVICE}`)
  }

  /** The ring, for values that are read as far as possible. */
  get ring(): KeyRing | null {
    return this.#ring
  }

  /** The keys of this node, as they may be shown; the first one encrypts. */
  get #fingerprints(): readonly string[] {
    return this.#ring?.keys.map(({ fingerprint }) => fingerprint) ?? []
  }

  /** Returns the values of secrets, at most `VALUES_KEPT_MS` old. */
  async read(projectId: string, names: readonly string[]): Promise<ReadValues> {
    const key = JSON.stringify([projectId, ...names])
    const kept = this.#kept.get(key)
    if (kept) return kept
    const reading = this.#read(projectId, names)
    this.#kept.set(key, reading)
    reading.then(
      ({ ok }) => ok || this.#kept.delete(key),
      () => this.#kept.delete(key),
    )
    return reading
  }

  /** Discards cached values, because a secret was changed here. */
  forget(): void {
    this.#kept.clear()
    this.#redactors.forget()
  }

  /** Returns the redactor of values that were read here. It is kept for as long as the values are. */
  redactorOf(values: Iterable<NamedValue>): Redactor {
    return this.#redactors.of(values)
  }

  /** Returns every value that attempts in progress may have received, for redacting their output. */
  async readEvery(projectId: string, names: readonly string[]): Promise<NamedValue[]> {
    const rows = await this.#options.db.run(readEverySecret(projectId, names))
    return rows.flatMap((row): NamedValue[] => {
      const opened = this.#open(row)
      return opened?.ok ? [[row.name, opened.value.toString()]] : []
    })
  }

  async #read(projectId: string, names: readonly string[]): Promise<ReadValues> {
    if (this.#ring === null) return { ok: false, reason: 'no_key' }
    const rows = await this.#options.db.run(readSecrets(projectId, names))
    const values = new Map<string, string>()
    for (const row of rows) {
      const opened = this.#open(row)
      if (opened?.ok) values.set(row.name, opened.value.toString())
      else if (opened?.reason === 'damaged') return { ok: false, reason: 'damaged', name: row.name }
      else return this.#lacksKey(row)
    }
    const name = names.find((each) => !values.has(each))
    return name === undefined ? { ok: true, values } : { ok: false, reason: 'missing', name }
  }

  #open({ projectId, name, version, value, keyId }: StoredVersion) {
    return this.#ring?.open({ keyId, sealed: value }, secretBinding({ projectId, name, version }))
  }

  /** A key has come into use since the last check: until this node has it, it offers nothing that may need it. */
  async #lacksKey({ keyId }: StoredVersion): Promise<ReadValues> {
    this.#missing = [keyId]
    await this.#enter('other_key')
    return { ok: false, reason: 'no_key' }
  }

  async #enter(state: SecretsState): Promise<void> {
    const hasChanged = state !== this.#state || !this.#isNoted
    this.#state = state
    if (!hasChanged) return
    for (const listener of this.#listeners) listener()
    this.#tell()
    const { db, nodeId } = this.#options
    const keys = this.#fingerprints
    if (nodeId !== null) await db.run(noteSecretsState({ nodeId, state, keys, labels: this.labels }))
    this.#isNoted = true
  }

  #tell(): void {
    const { log } = this.#options
    if (this.#state === 'ready') log.debug({ key: this.#ring?.first.fingerprint }, 'secrets can be read')
    else if (this.#missing.length > 0)
      log.warn({ missingKeys: this.#missing }, `${this.#sentence()} ${this.#consequence()}`)
  }

  #consequence(): string {
    if (!this.canSign) return 'It cannot sign requests either, so it performs no runs.'
    return this.canPerform
      ? 'Runs that use secrets wait for another node.'
      : 'The mail settings of a project refer to secrets, so it performs no runs.'
  }

  #sentence(): string {
    if (this.#ring === null)
      return this.#missing.length > 0
        ? 'This node has no key to read secrets with, and secrets are in use.'
        : 'This node has no key to encrypt secrets with.'
    return `This node has another secrets key: it lacks ${this.#missing.join(', ')}.`
  }

  #warnOfOpenFile(path: string | null): void {
    if (path !== null && path !== this.#warnedOf)
      this.#options.log.warn(
        { path },
        'other users of this machine can read the secrets key file; its mode should be 0600',
      )
    this.#warnedOf = path
  }
}

const ADVICE = 'Set BELFRY_SECRETS_KEY or --secrets-key-file to the same keys on every node.'

/** The data with which the value of a secret is authenticated. */
export const secretBinding = ({
  projectId,
  name,
  version,
}: Pick<StoredVersion, 'projectId' | 'name' | 'version'>) => ['secret', projectId, name, version] as const

/** The same for a secret that signs requests, and for that of a subscription. */
export const signingBinding = (projectId: string, id: string) => ['signing', projectId, id] as const
export const subscriptionBinding = (projectId: string, id: string) => ['subscription', projectId, id] as const
