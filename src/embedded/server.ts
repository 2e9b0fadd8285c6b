/**
 * The embedded database: a PostgreSQL server that Belfry includes, starts and stops.
 *
 * `startEmbeddedPostgres` returns once a server accepts connections at `connectionString`, with the database created, durable
 * settings, and the data directory held by this process alone:
 * - a directory without a database gets one; existing data is opened or rejected, never replaced;
 * - a server that is still running after its Belfry process ended is adopted with its current settings;
 * - a server that crashed is started again and recovers; `recoveredMs` is the duration;
 * - a directory held by another live process is rejected with `data_dir_in_use`, which names that process.
 *
 * States of the server: running → ended (it crashed: `onExit` fires, `restart` starts it again with the same connection string)
 * → running; or running → stopped (`stop`, permanently; the directory is released).
 */

import { setTimeout as delay } from 'node:timers/promises'
import { findBinaries, placeBinaries, removeOldCopies } from './binaries.ts'
import { answers, chooseListening, connectionStringFor, ensureDatabase } from './connection.ts'
import { type DataDirectory, openDataDirectory, readOrCreatePassword } from './data-directory.ts'
import { removeUnfinished } from './durable-files.ts'
import { describeFileError, EmbeddedPostgresError } from './errors.ts'
import type { Identity } from './identity.ts'
import { initialise, makeFor } from './initialise.ts'
import { claimOwnership, type Ownership } from './ownership.ts'
import { adopt, type Launch, launch, type RunningServer, shutDown } from './postmaster.ts'
import { findRunning, type Postmaster } from './postmaster-file.ts'
import { withRightsOf } from './rights.ts'
import { boundLog } from './server-log.ts'
import { type Listening, settingsFor } from './settings.ts'

export { defaultDataDir } from './data-directory.ts'
export { EmbeddedPostgresError, type EmbeddedPostgresErrorCode } from './errors.ts'
export { isShared } from './identity.ts'
export { claimOwnership, type Owner, type Ownership, readOwner } from './ownership.ts'
export { superviseEmbeddedPostgres } from './supervisor.ts'

export interface EmbeddedPostgresOptions {
  readonly dataDir: string
  /** The user that root runs the server as; null to choose by the owner of the data. */
  readonly runAs?: string | null
  /** Server settings that override the defaults, by their PostgreSQL names. */
  readonly settings?: Record<string, string>
  /** Called with a short description of each step. */
  readonly onStep?: (text: string) => void
}

/** A running embedded database. */
export interface EmbeddedPostgres {
  /** Constant for the life of this object, across restarts. */
  readonly connectionString: string
  /** PostgreSQL version, such as '18.4'. */
  readonly version: string
  /** Absolute path of the data directory. */
  readonly dataDir: string
  /** Process id of the server's main process. */
  readonly pid: number
  /** Whether the server was already running. */
  readonly adopted: boolean
  /** The user that the server runs as if this process is root; null otherwise. */
  readonly runsAs: Identity | null
  /** Whether this start created the database. */
  readonly initialised: boolean
  /** Duration of the last start if it included crash recovery; null otherwise. */
  readonly recoveredMs: number | null
  /** This process's claim on the data directory. */
  readonly owner: Ownership
  /** Performs `work` in the data directory with the privileges of its owner. `work` must be synchronous. */
  withRights<T>(work: () => T): T
  /** Registers a listener for each unexpected end of the server. Returns a function that unsubscribes. */
  onExit(listener: () => void): () => void
  /** Brings the server back after it ended, or stops and starts it. */
  restart(): Promise<void>
  /** Shuts the server down and releases the data directory. Can be called twice. */
  stop(): Promise<void>
}

const BOUND_LOG_EVERY_MS = 60_000
/** Maximum time for a server found starting or stopping to finish. */
const SETTLE_TIMEOUT_MS = 60_000
const SETTLE_POLL_MS = 20

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const binaries = findBinaries()
  const { dataDir, runAs = null } = options
  const directory = openDataDirectory(dataDir, { major: binaries.major, runAs })
  const owner = claimOwnership(directory.root, directory.owner)
  try {
    return await bringUp(options, directory, owner)
  } catch (error) {
    owner.release()
    throw describeFileError(error, directory.root)
  }
}

/** Returns the connection string of a server that another process runs on a directory; null if none runs. */
export async function runningConnection({
  dataDir,
  runAs = null,
}: Pick<EmbeddedPostgresOptions, 'dataDir' | 'runAs'>): Promise<string | null> {
  const directory = openDataDirectory(dataDir, { major: findBinaries().major, runAs })
  const found = directory.hasDatabase ? await settle(directory) : null
  return found && connectionStringFor(listeningOf(found, directory), readOrCreatePassword(directory))
}

async function bringUp(
  { settings = {}, onStep = () => {} }: EmbeddedPostgresOptions,
  directory: DataDirectory,
  owner: Ownership,
): Promise<EmbeddedPostgres> {
  withRightsOf(directory.owner, () => removeUnfinished(directory.root))
  const native = placeBinaries(findBinaries(), directory, onStep)
  const password = readOrCreatePassword(directory)
  const initialised = !directory.hasDatabase
  if (initialised) {
    onStep('creating the database')
    await initialise(native, directory, password)
  }

  if (directory.socketDir !== null) makeFor(directory, directory.socketDir)
  for (;;) {
    const found = await settle(directory)
    const listening = found === null ? await chooseListening(directory) : listeningOf(found, directory)
    const start: Launch = { native, directory, settings: settingsFor(listening, settings), onStep }
    if (found === null) onStep('starting the database')
    const server = found === null ? await launch(start) : adopt(found.pid)
    try {
      const version = await ensureDatabase(listening, password)
      if (!server.adopted) removeOldCopies(directory, native)
      const connectionString = connectionStringFor(listening, password)
      return new Embedded({ connectionString, version, initialised, owner, start, server })
    } catch (error) {
      // The server died right after it was found: the next check finds none, so this happens at most once.
      if (server.adopted && server.hasEnded()) continue
      // An adopted server that does not respond may be busy with something important, so it is left running.
      if (!server.adopted) await shutDown(server, native)
      throw refusesConnections(server, directory, error)
    }
  }
}

/** Returns the server to adopt, once it is ready; null once it is certain that none is running. */
async function settle(directory: DataDirectory): Promise<Postmaster | null> {
  const { socketDir } = directory
  const deadline = performance.now() + SETTLE_TIMEOUT_MS
  for (let found = findRunning(directory); found !== null; found = findRunning(directory)) {
    if (found.status === 'ready') return found
    if (performance.now() > deadline) throw stuck(found)
    await delay(SETTLE_POLL_MS)
  }
  if (socketDir !== null && (await answers(socketDir))) throw usedFromElsewhere(directory.root)
  return null
}

function listeningOf({ port }: Postmaster, { socketDir }: DataDirectory): Listening {
  return { socketDir, port }
}

function refusesConnections(
  { pid }: RunningServer,
  { log }: DataDirectory,
  cause: unknown,
): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'start_failed',
    `The embedded database (pid ${pid}) refuses connections: ${String(cause)}.`,
    `See ${log} for more, or use --database-url.`,
    { cause },
  )
}

function stuck({ pid, status }: Postmaster): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'start_failed',
    `The embedded database (pid ${pid}) has been ${status || 'starting'} for too long.`,
    'Wait for it, or kill that process and start again.',
  )
}

function usedFromElsewhere(root: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'data_dir_in_use',
    `${root} is in use by a database process that is not visible here, perhaps in another container.`,
    'Stop that one first, or use another --data-dir.',
  )
}

interface Parts {
  readonly connectionString: string
  readonly version: string
  readonly initialised: boolean
  readonly owner: Ownership
  readonly start: Launch
  readonly server: RunningServer
}

class Embedded implements EmbeddedPostgres {
  readonly connectionString: string
  readonly version: string
  readonly initialised: boolean
  readonly owner: Ownership
  readonly #start: Launch
  readonly #listeners = new Set<() => void>()
  readonly #logTimer: NodeJS.Timeout
  #server: RunningServer
  /** Starts and stops are serialised, so that a stop during a restart finds a complete server to stop. */
  #turn: Promise<void> = Promise.resolve()
  #stopped: Promise<void> | null = null
  /** The server that this process is shutting down; its end is expected. */
  #dismissed: RunningServer | null = null

  constructor({ connectionString, version, initialised, owner, start, server }: Parts) {
    this.connectionString = connectionString
    this.version = version
    this.initialised = initialised
    this.owner = owner
    this.#start = start
    this.#server = server
    this.#watch(server)
    this.#logTimer = setInterval(() => this.#boundLog(), BOUND_LOG_EVERY_MS).unref()
  }

  readonly withRights = <T>(work: () => T): T => withRightsOf(this.#start.directory.owner, work)

  get dataDir() {
    return this.#start.directory.root
  }

  get runsAs() {
    return this.#start.directory.identity
  }

  get pid() {
    return this.#server.pid
  }

  get adopted() {
    return this.#server.adopted
  }

  get recoveredMs() {
    return this.#server.recoveredMs
  }

  onExit(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  restart(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#stopped !== null) throw new Error('The embedded database was stopped.')
      await this.#shutDown()
      this.#server = await launch(this.#start)
      this.#watch(this.#server)
    })
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#inTurn(async () => {
      clearInterval(this.#logTimer)
      await this.#shutDown()
      this.owner.release()
    })
    return this.#stopped
  }

  async #shutDown(): Promise<void> {
    if (this.#server.hasEnded()) return
    this.#dismissed = this.#server
    await shutDown(this.#server, this.#start.native)
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }

  #watch(server: RunningServer): void {
    void server.ended.then(() => {
      if (this.#dismissed === server) return
      for (const listener of this.#listeners) listener()
    })
  }

  #boundLog(): void {
    try {
      boundLog(this.#start.directory)
    } catch {
      // If the disk is too full to keep the old log, the database reports its own failed writes.
    }
  }
}
