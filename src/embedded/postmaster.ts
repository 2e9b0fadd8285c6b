/**
 * One server process, from its launch or adoption to its end. It runs in its own session: Ctrl-C in the terminal must reach
 * Belfry and not the database, which is stopped after the processes that use it.
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

/** A server process that this process started or adopted. */
export interface RunningServer {
  readonly pid: number
  readonly adopted: boolean
  /** Milliseconds until the server was ready, if it had to recover from a crash; null otherwise. */
  readonly recoveredMs: number | null
  /** Resolves when the process has ended, for whatever reason. */
  readonly ended: Promise<void>
  hasEnded(): boolean
}

const POLL_MS = 10
const WATCH_ADOPTED_MS = 200
/** Crash recovery replays at most a few gigabytes; a server that takes longer is stuck. */
const READY_TIMEOUT_MS = 10 * 60_000
/** The children of a killed server end within moments and hold its shared memory until then. */
const LINGER_TIMEOUT_MS = 10_000
const LINGER_RETRY_MS = 50
const FAST_SHUTDOWN_MS = 20_000
const IMMEDIATE_SHUTDOWN_MS = 10_000

/** Parameters for starting a server. */
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

/** Returns the running server, or its log output if it ended. */
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

/** Adopts a server that another Belfry process started. It is not a child of this process, so it is polled. */
export function adopt(pid: number): RunningServer {
  const ended = (async () => {
    while (isAlive(pid)) await delay(WATCH_ADOPTED_MS, undefined, { ref: false })
  })()
  return { pid, adopted: true, recoveredMs: null, ended, hasEnded: () => !isAlive(pid) }
}

/**
 * Requests a fast shutdown: clients are disconnected and all data is flushed. If that hangs, an immediate shutdown follows, and
 * the next start performs crash recovery.
 */
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

/** Polls, which also keeps this process alive until the server has ended: nothing else does. */
export async function endsWithin(server: RunningServer, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs
  while (!server.hasEnded()) {
    if (performance.now() > deadline) return false
    await delay(POLL_MS)
  }
  return true
}

/** Windows has no signals; pg_ctl provides a replacement. */
async function signal(pid: number, name: 'INT' | 'QUIT', native: string): Promise<void> {
  try {
    if (process.platform === 'win32') await promisify(execFile)(pgCtlIn(native), ['kill', name, String(pid)])
    else process.kill(pid, `SIG${name}`)
  } catch {
    // The server has ended by itself, or the wait that follows will time out.
  }
}

/** Opened here and inherited, because the server itself may not be able to write to the directory. */
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
