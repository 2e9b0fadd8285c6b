/**
 * Makes the database, once. It is made beside its final place and renamed there when it is complete and
 * on disk, so a crash at any point leaves either no database or a whole one.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { initdbIn } from './binaries.ts'
import { type DataDirectory, renameDurably, unfinishedNameFor } from './data-directory.ts'
import { describeFileError } from './errors.ts'
import { explainFailure } from './server-log.ts'

export const ROLE = 'belfry'
const MAX_OUTPUT_CHARS = 64 * 1024

/** Our environment may hold secrets and PG… variables; the database gets neither. */
export const SERVER_ENV = { LC_ALL: 'C', TZ: 'UTC' }

export async function initialise(native: string, directory: DataDirectory, password: string): Promise<void> {
  const { root, pg } = directory
  const workshop = unfinishedNameFor(pg)
  const draft = join(workshop, 'pg')
  const passwordFile = join(workshop, 'password')
  try {
    makeFor(directory, workshop)
    makeFor(directory, draft)
    writeFileSync(passwordFile, password, { mode: 0o600 })
    giveTo(directory, passwordFile)
    await runInitdb(native, directory, [`--pgdata=${draft}`, `--pwfile=${passwordFile}`])
    renameDurably(draft, pg)
  } catch (error) {
    throw describeFileError(error, root)
  } finally {
    rmSync(workshop, { recursive: true, force: true })
  }
}

/** Makes a directory that only the user the server runs as may use. */
export function makeFor(directory: DataDirectory, path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  giveTo(directory, path)
}

function giveTo({ identity }: DataDirectory, path: string): void {
  if (identity !== null) chownSync(path, identity.uid, identity.gid)
}

/**
 * Text is UTF-8 and sorts by code point, by rules built into PostgreSQL: fast, and the same whatever
 * the system's locales are or become.
 */
async function runInitdb(native: string, directory: DataDirectory, place: string[]): Promise<void> {
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const access = [`--username=${ROLE}`, '--auth=scram-sha-256']
  const child = spawn(initdbIn(native), [...place, ...locale, ...access, '--no-instructions'], {
    ...spawnAs(directory),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { code, output } = await outputOf(child)
  if (code !== 0) throw explainFailure(output, directory)
}

/** Spawning with a uid also drops every supplementary group. */
export function spawnAs({ root, identity }: DataDirectory) {
  const who = identity === null ? {} : { uid: identity.uid, gid: identity.gid }
  return { ...who, cwd: root, env: SERVER_ENV, windowsHide: true }
}

function outputOf(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    let output = ''
    const keep = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-MAX_OUTPUT_CHARS)
    }
    child.stdout?.on('data', keep)
    child.stderr?.on('data', keep)
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}
