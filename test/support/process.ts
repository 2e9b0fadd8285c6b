/**
 * The real program, built and started as a child process, as users have it. Output is read, never guessed
 * at: a start is over when the banner is there. Whatever a test leaves running is ended with it, by pid.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject, onTestFinished } from 'vitest'
import { connectionStringFor } from '../../src/embedded/connection.ts'
import { isPostgresOn } from '../../src/embedded/process-identity.ts'
import { PRESET_FLAGS, SLOW_DATABASE_MS } from './cadence.ts'
import { whenFileEnds } from './file-end.ts'
import { type Answer, request } from './request.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const MAIN = join(ROOT, 'dist', 'main.js')
const START_TIMEOUT_MS = 60_000
const READY = /Ready\./
const API_URL = /API {2,}(http:\S+)\/v1\/tasks/

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** From the start of the process to its end. */
  readonly tookMs: number
}

export interface LaunchOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Arguments for Node itself, before the program. */
  readonly nodeArgs?: readonly string[]
  /** What starts Node and becomes it, such as a shell that sets limits first. */
  readonly prefix?: readonly string[]
  /** Another file than the built program. */
  readonly program?: string
  readonly uid?: number
}

export interface Launched {
  readonly child: ChildProcess
  readonly pid: number
  readonly exited: Promise<Exit>
  /** What it has said so far. */
  readonly stdout: string
  readonly stderr: string
  /** The lines of its log. */
  readonly log: readonly Record<string, unknown>[]
  /** Resolves when the output matches; rejects if the process ends first. */
  said(pattern: RegExp, on?: 'stdout' | 'stderr'): Promise<RegExpExecArray>
  kill(signal: NodeJS.Signals): void
}

export interface Belfry extends Launched {
  /** Address of the API; empty without the role `api`. */
  readonly url: string
  /** From the start of the process to the banner. */
  readonly readyMs: number
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

const launched = new Set<Launched>()
const directories = new Set<string>()

whenFileEnds(async () => {
  await Promise.all([...launched].map(end))
  for (const directory of directories) remove(directory)
  directories.clear()
})

/** A directory of this test's own that every user may pass; a database left running in it is ended with it. */
export function aDirectory(): string {
  const directory = mkdtempSync(join(inject('scratch'), 'process-'))
  chmodSync(directory, 0o755)
  directories.add(directory)
  whenTestEnds(() => {
    remove(directory)
    directories.delete(directory)
  })
  return directory
}

/** What a test started ends with it, and what a file started with the file: a node whose database is gone keeps a core busy. */
function whenTestEnds(clean: () => unknown): void {
  try {
    onTestFinished(async () => {
      await clean()
    })
  } catch {
    // Outside of a test.
  }
}

/** Starts the program with any arguments; the caller decides what to wait for. */
export function launch(args: readonly string[], options: LaunchOptions = {}): Launched {
  const startedAt = performance.now()
  const { env = {}, cwd = tmpdir(), nodeArgs = [], prefix = [], program = MAIN, uid } = options
  const [command = '', ...rest] = [...prefix, process.execPath, ...nodeArgs, program, ...args]
  const child = spawn(command, rest, {
    cwd,
    env: { ...plainEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  const text = { stdout: '', stderr: '' }
  const listeners = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk
      for (const listener of listeners) listener()
    })
  }
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) =>
      resolve({ code, signal, ...text, tookMs: Math.round(performance.now() - startedAt) }),
    )
  })
  const self: Launched = {
    child,
    pid: child.pid ?? 0,
    exited,
    get stdout() {
      return text.stdout
    },
    get stderr() {
      return text.stderr
    },
    get log() {
      return logLines(text.stderr)
    },
    said: (pattern, on = 'stdout') =>
      new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(text[on])
          if (match) settle(() => resolve(match))
        }
        const settle = (how: () => void) => {
          listeners.delete(look)
          clearTimeout(timer)
          how()
        }
        const fail = (why: string) =>
          settle(() => reject(new Error(`${why} before it said ${pattern}:\n${text.stdout}${text.stderr}`)))
        const timer = setTimeout(() => fail(`${START_TIMEOUT_MS} ms passed`), START_TIMEOUT_MS)
        listeners.add(look)
        exited.then(
          ({ code, signal }) => fail(`The program ended (${code ?? signal})`),
          (error: Error) => fail(error.message),
        )
        look()
      }),
    kill: (signal) => {
      child.kill(signal)
    },
  }
  launched.add(self)
  whenTestEnds(() => end(self))
  void exited.finally(() => launched.delete(self)).catch(() => {})
  return self
}

/** Runs the program to its end. */
export function runBelfry(args: readonly string[], options: LaunchOptions = {}): Promise<Exit> {
  return launch(args, options).exited
}

/** `belfry start` on a free port, up to its banner. */
export async function startBelfry(args: readonly string[], options: LaunchOptions = {}): Promise<Belfry> {
  const startedAt = performance.now()
  // An earlier release does not have this setting.
  const patience = options.program === undefined ? ['--slow-database-ms', String(SLOW_DATABASE_MS)] : []
  const self = launch(['start', '--port', '0', ...PRESET_FLAGS, ...patience, ...args], options)
  await self.said(READY)
  const readyMs = Math.round(performance.now() - startedAt)
  const url = API_URL.exec(self.stdout)?.[1] ?? ''
  return Object.create(self, {
    url: { value: url },
    readyMs: { value: readyMs },
    request: {
      value: (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
        request(url, method, path, body, headers),
    },
  }) as Belfry
}

/** Returns the address of the embedded database in a data directory, to read its contents. */
export function embeddedDatabaseUrl(dataDir: string): string {
  const password = readFileSync(join(dataDir, 'password'), 'utf8').trim()
  return connectionStringFor({ socketDir: join(dataDir, 'socket'), port: 5432 }, password)
}

/** Returns the pid of the main process of a data directory's embedded database; null if it is not running. */
export function embeddedPostmaster(dataDir: string): number | null {
  try {
    const pg = join(dataDir, 'pg')
    const pid = Number.parseInt(readFileSync(join(pg, 'postmaster.pid'), 'utf8'), 10)
    return isPostgresOn(pid, pg) ? pid : null
  } catch {
    return null
  }
}

/** This process's environment, without variables that would configure the program or color its output. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const isOurs = (name: string) => name.startsWith('BELFRY_') || /^(NO_COLOR|FORCE_COLOR)$/.test(name)
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOurs(name)))
}

function logLines(stderr: string): Record<string, unknown>[] {
  return stderr.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
}

async function end(process: Launched): Promise<void> {
  process.kill('SIGKILL')
  await process.exited.catch(() => {})
}

function remove(directory: string): void {
  for (const dataDir of [directory, join(directory, 'data')]) {
    const postmaster = embeddedPostmaster(dataDir)
    if (postmaster !== null) process.kill(postmaster, 'SIGQUIT')
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}
