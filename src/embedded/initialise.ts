/**
 * Creates the database, once. It is created next to its final place and renamed once it is complete and on disk, so a crash at
 * any point leaves either no database or a complete one.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, lchownSync, lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { initdbIn } from './binaries.ts'
import type { DataDirectory } from './data-directory.ts'
import { removeTree, renameDurably, unfinishedNameFor } from './durable-files.ts'
import { describeFileError } from './errors.ts'
import { withRightsOf } from './rights.ts'
import { explainFailure } from './server-log.ts'

export const ROLE = 'belfry'
const MAX_OUTPUT_CHARS = 64 * 1024

/**
 * Environment of the server. This process's environment can contain secrets and PG… variables, so the server does not inherit
 * it.
 */
export const SERVER_ENV = { LC_ALL: 'C', TZ: 'UTC' }

export async function initialise(native: string, directory: DataDirectory, password: string): Promise<void> {
  const { root, pg, owner, identity } = directory
  const workshop = unfinishedNameFor(pg)
  const draft = join(workshop, 'pg')
  const passwordFile = join(workshop, 'password')
  try {
    makeFor(directory, workshop)
    // The temporary directory belongs to the server's user, so other processes of that user could have put something in it by
    // now.
    withRightsOf(identity, () => {
      mkdirSync(draft, { mode: 0o700 })
      writeFileSync(passwordFile, password, { flag: 'wx', mode: 0o600 })
    })
    await runInitdb(native, directory, [`--pgdata=${draft}`, `--pwfile=${passwordFile}`])
    withRightsOf(owner, () => moveIn(draft, pg))
  } catch (error) {
    throw describeFileError(error, root)
  } finally {
    withRightsOf(owner, () => removeTree(workshop))
  }
}

/**
 * After the rename to root's directory, nobody can replace the path any more, so a check afterwards shows whether it was
 * replaced before.
 */
function moveIn(draft: string, pg: string): void {
  renameDurably(draft, pg)
  if (lstatSync(pg).isDirectory()) return
  rmSync(pg)
  throw new Error('The new database directory was replaced by a link while it was being created.')
}

/** Creates a directory, if it does not exist, that only the server's user can access. */
export function makeFor({ owner, identity }: DataDirectory, path: string): void {
  withRightsOf(owner, () => {
    if (!existsSync(path)) mkdirSync(path, { mode: 0o700 })
    // Only in root's own directory, where nobody can replace the path; elsewhere the directory already has the right owner.
    if (owner === null && identity !== null) lchownSync(path, identity.uid, identity.gid)
  })
}

/**
 * Text is UTF-8 and sorts by code point, with PostgreSQL's built-in locale provider: fast, and independent of the system's
 * locales.
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
