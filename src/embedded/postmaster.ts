/**
 * One server process, from its launch, or from being found running, to its end. It lives in a session of
 * its own: Ctrl-C in our terminal must reach us and not the database, which is stopped after its users.
 */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, openSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isAlive } from '../runtime/process-identity.ts'
import { pgCtlIn, postgresIn } from './binaries.ts'
import type { DataDirectory } from './data-directory.ts'
import { describeFileError, EmbeddedPostgresError } from './errors.ts'
import { spawnAs } from './initialise.ts'
import { forgetImpostor, readPostmaster } from './postmaster-file.ts'
import { withRightsOf } from './rights.ts'
import { boundLog, explainFailure, readLogSince, tellsOfLingering, tellsOfRecovery } from './server-log.ts'
import { asArguments } from './settings.ts'

/** A server process, started by us or found running. */
export interface RunningServer {
  readonly pid: number
  readonly adopted: boolean
  /** How long it took to become ready, when it had a crash to recover from. */
  readonly recoveredMs: number | null
  /** Resolves when the process has ended, for whatever reason. */
  readonly ended: Promise<void>
  hasEnded(): boolean
}

const POLL_MS = 10
const WATCH_ADOPTED_MS = 200
/** Recovery after a crash replays at most a few gigabytes; a server silent for longer is stuck. */
const READY_TIMEOUT_MS = 10 * 60_000
/** Children of a killed server notice within moments, and hold its shared memory until then. */
const LINGER_TIMEOUT_MS = 10_000
const LINGER_RETRY_MS = 50
const FAST_SHUTDOWN_MS = 20_000
const IMMEDIATE_SHUTDOWN_MS = 10_000

/** What it takes to start a server. */
export interface Launch {
  readonly native: string
  readonly directory: DataDirectory
  readonly settings: Record<string, string>
  readonly onStep: (text: string) => void
}

/** Starts a server and resolves once it accepts connections. */
export async function launch(options: Launch): Promise<RunningServer> {
  const deadline = performance.now() + LINGER_TIMEOUT_MS
  for (;;) {
    forgetImpostor(options.directory)
    const result = await launchOnce(options)
    if (typeof result !== 'string') return result
    if (!tellsOfLingering(result) || performance.now() > deadline) {
      throw explainFailure(result, options.directory)
    }
    await delay(LINGER_RETRY_MS)
  }
}

/** The running server, or what it said before it ended. */
async function launchOnce({ native, directory, settings, onStep }: Launch): Promise<RunningServer | string> {
  const startedAt = performance.now()
  const log = openLog(directory)
  const logStart = fstatSync(log).size
  const child = spawn(postgresIn(native), ['-D', directory.pg, ...asArguments(settings)], {
    ...spawnAs(directory),
    stdio: ['ignore', log, log],
    detached: true,
  })
  closeSync(log)
  let ended = false
  const exit = new Promise<void>((resolve) => {
    child.once('exit', () => {
      ended = true
      resolve()
    })
  })
  try {
    await once(child, 'spawn')
  } catch (cause) {
    throw spawnFailed(postgresIn(native), cause)
  }
  child.on('error', () => {}) // A failing kill is noticed by the process still being there.
  child.unref()
  const pid = child.pid ?? 0

  let recovering = false
  while (!ended && !isReady(directory, pid)) {
    if (performance.now() - startedAt > READY_TIMEOUT_MS) {
      child.kill('SIGQUIT')
      throw explainFailure('FATAL: it was not ready in time', directory)
    }
    if (!recovering && tellsOfRecovery(readLogSince(directory, logStart))) {
      recovering = true
      onStep('recovering the database')
    }
    await delay(POLL_MS)
  }
  const said = readLogSince(directory, logStart)
  if (ended) return said
  const recoveredMs = tellsOfRecovery(said) ? Math.round(performance.now() - startedAt) : null
  return { pid, adopted: false, recoveredMs, ended: exit, hasEnded: () => ended }
}

/** Looks after a server that another process of ours started. It is not our child, so it has to be watched. */
export function adopt(pid: number): RunningServer {
  const ended = (async () => {
    while (isAlive(pid)) await delay(WATCH_ADOPTED_MS, undefined, { ref: false })
  })()
  return { pid, adopted: true, recoveredMs: null, ended, hasEnded: () => !isAlive(pid) }
}

/** Fast shutdown: clients are cut off, everything is flushed. If that hangs, the next start recovers. */
export async function shutDown(server: RunningServer, native: string): Promise<void> {
  await signal(server.pid, 'INT', native)
  if (await endsWithin(server, FAST_SHUTDOWN_MS)) return
  await signal(server.pid, 'QUIT', native)
  if (await endsWithin(server, IMMEDIATE_SHUTDOWN_MS)) return
  throw new EmbeddedPostgresError(
    'start_failed',
    `The embedded database (pid ${server.pid}) did not stop.`,
    'Kill that process; no committed data is lost.',
  )
}

/** Waits by looking, which also keeps us alive until the server is down: nothing else here does. */
export async function endsWithin(server: RunningServer, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs
  while (!server.hasEnded()) {
    if (performance.now() > deadline) return false
    await delay(POLL_MS)
  }
  return true
}

/** Windows has no signals; PostgreSQL brings a stand-in for them. */
async function signal(pid: number, name: 'INT' | 'QUIT', native: string): Promise<void> {
  try {
    if (process.platform === 'win32') await promisify(execFile)(pgCtlIn(native), ['kill', name, String(pid)])
    else process.kill(pid, `SIG${name}`)
  } catch {
    // It ended by itself meanwhile, or the wait that follows will tell.
  }
}

/** Opened here and inherited, because the directory may be one that the server itself cannot write to. */
function openLog(directory: DataDirectory): number {
  const { log, owner } = directory
  try {
    boundLog(directory)
    return withRightsOf(owner, () => openSync(log, 'a', 0o600))
  } catch (error) {
    throw describeFileError(error, log)
  }
}

function isReady(directory: DataDirectory, pid: number): boolean {
  const postmaster = readPostmaster(directory)
  return postmaster !== null && postmaster.pid === pid && postmaster.status === 'ready'
}

function spawnFailed(path: string, cause: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'start_failed',
    `Cannot run ${path}: ${cause instanceof Error ? cause.message : cause}.`,
    'Use --database-url, or run belfry doctor.',
    { cause },
  )
}
