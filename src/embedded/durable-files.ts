/** Files that appear whole or not at all, also when the power fails. */
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

/** Marks what is being made; anything with it is left over from a crash and may be deleted. */
const UNFINISHED = /\.new-[0-9a-f]{8}$/

export function unfinishedNameFor(path: string): string {
  return `${path}.new-${randomUUID().slice(0, 8)}`
}

/** Replaces a file of ours in one step that survives a power cut. */
export function writeDurably(path: string, text: string): void {
  const draft = unfinishedNameFor(path)
  writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush: true })
  renameDurably(draft, path)
}

/** The rename is durable only once the directory itself is on disk. */
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

/** Deletes what a crash left half made. Only the holder of the directory may call this. */
export function removeUnfinished(root: string): void {
  for (const name of readdirSync(root)) if (UNFINISHED.test(name)) removeIfPossible(join(root, name))
}

/** What cannot be removed, such as what root once left in a directory of another user, costs space and nothing else. */
export function removeIfPossible(path: string): void {
  try {
    removeTree(path)
  } catch {
    // It is tried again at the next start.
  }
}

/** Deletes a file or a tree; as root, the inside of a tree with the rights of the user that it belongs to. */
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
