/** A server and workers as users start them, in processes of their own. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Database } from '../../src/store/database/database.ts'
import { aFile } from '../files/support.ts'
import { ensureBubblewrap } from '../support/bubblewrap.ts'
import { STEADY } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { aDirectory, type Belfry, type Launched, launch, startBelfry } from '../support/process.ts'
import { TEST_KEY } from '../support/vault.ts'

/** What files and attempt tokens are signed with. */
const SERVER_ENV = { BELFRY_SECRETS_KEY: TEST_KEY }

/** A node that runs no programs itself. Its workers do, and each looks for a sandbox when it starts. */
export async function startServer(
  args: readonly string[] = STEADY,
): Promise<Belfry & { readonly db: Database }> {
  await ensureBubblewrap()
  const { url, db } = await createTestDatabase()
  const server = await startBelfry(['--database-url', url, '--exec', 'off', ...args], {
    env: SERVER_ENV,
  })
  return Object.assign(server, { db })
}

export interface WorkerOptions {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** `belfry worker`. Its cache is its own unless another one is named. */
export function launchWorker(url: string, { args = [], env = {} }: WorkerOptions = {}): Launched {
  const cache = join(aDirectory(), 'files')
  return launch(['worker', '--server', url, '--file-cache-dir', cache, ...args], { env })
}

/** The same, up to its registration. */
export async function startWorker(url: string, options: WorkerOptions = {}): Promise<Launched> {
  const worker = launchWorker(url, options)
  await worker.said(/✓ server/)
  return worker
}

let labels = 0
/** A label that no other test uses. */
export const aLabel = () => `place=${++labels}`

/** Whether a process runs that has this among its arguments. */
export const isRunning = (mark: string) => processes('cmdline').some(({ text }) => text.includes(mark))

/** What every process has in a file of its folder in /proc, such as its environment, as far as it can be read. */
export const processes = (file: string): { readonly pid: number; readonly text: string }[] =>
  readdirSync('/proc').flatMap((pid) => {
    try {
      return /^\d+$/.test(pid)
        ? { pid: Number(pid), text: readFileSync(join('/proc', pid, file), 'utf8') }
        : []
    } catch {
      return []
    }
  })

/** A folder for files of workers. */
export function aCache(): string {
  const folder = join(aDirectory(), 'cache')
  mkdirSync(folder)
  return folder
}

/** Uploads a shell script; the answer is the id of the file. */
export const aScript = (server: Belfry, lines: readonly string[], name = 'script.sh'): Promise<string> =>
  aFile(server, Buffer.from(['#!/bin/sh', ...lines, ''].join('\n')), name)

/** Creates a task, due now unless it says otherwise; the answer is its id. */
export async function aTask(server: Belfry, task: Record<string, unknown>): Promise<string> {
  const { status, body } = await server.request('POST', '/v1/tasks', task)
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id
}

// biome-ignore lint/suspicious/noExplicitAny: answers of the API are looked at by the tests themselves
export type Run = any

export const latestRun = async (server: Belfry, taskId: string): Promise<Run | undefined> =>
  (await server.request('GET', `/v1/tasks/${taskId}/runs`)).body.items[0]

/** The latest run of a task, once it is as wanted. */
export const runWhen = (
  server: Belfry,
  taskId: string,
  isSo: (run: Run) => boolean,
  withinMs = 60_000,
): Promise<Run> =>
  eventually(
    async () => {
      const run = await latestRun(server, taskId)
      return run && isSo(run) ? run : undefined
    },
    { withinMs, everyMs: 50, otherwise: () => latestRun(server, taskId) },
  )

export const ended = (server: Belfry, taskId: string, withinMs?: number): Promise<Run> =>
  runWhen(server, taskId, ({ endedAt }) => endedAt !== null, withinMs)
