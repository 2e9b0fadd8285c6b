/** Shared by the tests of the embedded database: directories, and Belfry processes that can be killed. */

import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import pg from 'pg'
import { inject } from 'vitest'
import { isAlive } from '../runtime/process-identity.ts'

export const isRoot = process.getuid?.() === 0
const DEADLINE_MS = 60_000

/** Returns a new directory that all users can pass, like /var/lib. */
export function aDirectory(): string {
  const dir = mkdtempSync(join(inject('scratch'), 'embedded-'))
  chmodSync(dir, 0o755)
  return dir
}

export async function query(connectionString: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Waits until a condition is true; fails after a timeout. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`Waited in vain: ${what}`)
    await delay(5)
  }
}

export const untilDead = (pid: number) => until(`process ${pid} is gone`, () => !isAlive(pid))

/** Output of the program below, as one line of JSON. */
export interface Told {
  readonly pid: number
  readonly databasePid?: number
  readonly connectionString?: string
  readonly adopted?: boolean
  readonly recoveredMs?: number | null
  readonly code?: string
  readonly message?: string
}

/** Starts the database or only claims the directory, prints the result, and waits until its stdin is closed. */
const PROGRAM = `
import { claimOwnership, startEmbeddedPostgres } from './server.ts'
const [mode, dataDir] = process.argv.slice(2)
const tell = (told) => process.stdout.write(JSON.stringify({ pid: process.pid, ...told }) + '\\n')
const inputEnded = new Promise((resolve) => process.stdin.resume().once('end', resolve))
try {
  if (mode === 'claim') {
    const owner = claimOwnership(dataDir)
    tell({})
    await inputEnded
    owner.release()
  } else {
    const database = await startEmbeddedPostgres({ dataDir })
    const { connectionString, adopted, recoveredMs } = database
    tell({ databasePid: database.pid, connectionString, adopted, recoveredMs })
    await inputEnded
    await database.stop()
  }
} catch (error) {
  tell({ code: error.code ?? 'unknown', message: error.message })
  process.exit(1)
}`

/** Builds the program in a place where Node.js finds the dependencies. `remove` deletes it. */
export async function buildProgram(): Promise<{ path: string; remove: () => void }> {
  const here = fileURLToPath(new URL('.', import.meta.url))
  const cache = join(here, '../../node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const dir = mkdtempSync(join(cache, 'belfry-embedded-'))
  chmodSync(dir, 0o755)
  const path = join(dir, 'program.mjs')
  await build({
    stdin: { contents: PROGRAM, resolveDir: here },
    outfile: path,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
  })
  return { path, remove: () => rmSync(dir, { recursive: true, force: true }) }
}

export interface Running {
  readonly child: ChildProcess
  readonly told: Promise<Told>
  /** Closes its stdin, so that it shuts down properly. */
  finish(): Promise<void>
  /** Kills the process without cleanup, as a crash would. */
  kill(): Promise<void>
}

export function run(program: string, mode: 'start' | 'claim', dataDir: string, uid?: number): Running {
  const child = spawn(process.execPath, [program, mode, dataDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
    cwd: '/',
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const told = new Promise<Told>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) => resolve(JSON.parse(line)))
    child.once('error', reject)
    child.once('close', () => reject(new Error('The program ended without a word')))
  })
  told.catch(() => {})
  return {
    child,
    told,
    finish() {
      child.stdin.end()
      return exited
    },
    kill() {
      child.kill('SIGKILL')
      return exited
    },
  }
}
