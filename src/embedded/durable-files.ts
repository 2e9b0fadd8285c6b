/** Atomic file operations that survive a power failure. */
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { withRightsOf } from './rights.ts'

/** Suffix of files in the making. Such a file found at start is left over from a crash and can be deleted. */
const UNFINISHED = /\.new-[0-9a-f]{8}$/

export function unfinishedNameFor(path: string): string {
  return `${path}.new-${randomUUID().slice(0, 8)}`
}

/** Replaces one of Belfry's own files atomically and durably. */
export function writeDurably(path: string, text: string): void {
  const draft = unfinishedNameFor(path)
  writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush: true })
  renameDurably(draft, path)
}

/** Renames a file. The rename is durable only once the directory is synced as well. */
export function renameDurably(from: string, to: string): void {
  renameSync(from, to)
  if (process.platform === 'win32') return
  const directory = openSync(dirname(to), 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

/** Deletes unfinished files left by a crash. Only the process that holds the directory may call this. */
export function removeUnfinished(root: string): void {
  for (const name of readdirSync(root)) if (UNFINISHED.test(name)) removeIfPossible(join(root, name))
}

/** Files that cannot be deleted, such as those of root in a directory of another user, only take up space. */
export function removeIfPossible(path: string): void {
  try {
    removeTree(path)
  } catch {
    // The next start tries again.
  }
}

/** Deletes a file or a directory tree. As root, deletes the content of a tree with the privileges of its owner. */
export function removeTree(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isDirectory() || found.uid === 0 || process.geteuid?.() !== 0) {
    rmSync(path, { recursive: true, force: true })
    return
  }
  withRightsOf(found, () => {
    for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true, force: true })
  })
  rmdirSync(path)
}
