/**
 * The folder of this process, with a subfolder for each program for files that must be on disk while it runs. Other users can
 * pass through it but not list it: if this process is root, each program runs as its own user and must reach its own
 * files.
 */

import {
  chmod,
  chown,
  copyFile,
  constants as fs,
  link,
  mkdtemp,
  readdir,
  stat,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { judgeName, ownPrefix, processesLeftBehind } from './owner.ts'
import type { User } from './places.ts'
import { signalAll } from './processes.ts'
import { removeTree } from './remove-tree.ts'

/** Folders of another pid namespace are removed when nothing has been started in them for this time. */
const UNKNOWN_OWNER_MS = 7 * 24 * 3_600_000
const PASSABLE = 0o711

/** Creates the folder, and removes folders left behind by ended processes. */
export async function makeProgramFolder(base: string): Promise<string> {
  await sweep(base)
  const folder = await mkdtemp(join(base, ownPrefix()))
  await chmod(folder, PASSABLE)
  return folder
}

/** Creates the folder of one program, with a new name. */
export async function makeAttemptFolder(folder: string): Promise<string> {
  const attempt = await mkdtemp(join(folder, 'run-'))
  await chmod(attempt, PASSABLE)
  return attempt
}

/**
 * Returns where to create the folder: `wanted`, unless programs run as other users that cannot reach it; else the system's
 * temporary folder.
 */
export async function chooseBase(wanted: string | null, mustBeReachable: boolean): Promise<string> {
  if (wanted === null) return tmpdir()
  return !mustBeReachable || (await isReachable(wanted)) ? wanted : tmpdir()
}

async function isReachable(path: string): Promise<boolean> {
  const { mode } = await stat(path)
  if ((mode & fs.S_IXOTH) === 0) return false
  return dirname(path) === path || (await isReachable(dirname(path)))
}

/**
 * Makes a file readable by every user, with a link instead of a copy if possible. Nobody can write through the link: the
 * program sees it on a read-only mount.
 */
export async function shareFile(source: string, target: string, isExecutable: boolean): Promise<void> {
  const needed = isExecutable ? fs.S_IROTH | fs.S_IXOTH : fs.S_IROTH
  const { mode } = await stat(source)
  if ((mode & needed) === needed && (await canLink(source, target))) return
  await copy(source, target, isExecutable ? 0o755 : 0o644)
}

/** Creates a copy that the program can change without changing the original. */
export async function copy(source: string, target: string, mode: number): Promise<void> {
  await copyFile(source, target, fs.COPYFILE_FICLONE)
  await chmod(target, mode)
}

/** Writes the standard input of a program to a file, so that the program can open it again as `/dev/stdin`. */
export async function writeInput(
  folder: string,
  input: Buffer | string | null,
  user: User | null,
): Promise<string | null> {
  if (input === null) return null
  const path = join(folder, 'stdin')
  await writeOwn(path, input, { mode: 0o400, user })
  return path
}

/** Writes a file that only the program can read, since it may contain secrets. */
export async function writeOwn(
  path: string,
  content: Buffer | string,
  { mode, user }: { readonly mode: number; readonly user: User | null },
): Promise<void> {
  await writeFile(path, content, { mode })
  if (user !== null) await chown(path, user.uid, user.gid)
}

async function canLink(source: string, target: string): Promise<boolean> {
  try {
    await link(source, target)
    return true
  } catch {
    return false // The target is on another file system, or the file system has no hard links.
  }
}

async function sweep(base: string): Promise<void> {
  signalAll(processesLeftBehind(), 'SIGKILL')
  const names = await readdir(base).catch(() => [])
  for (const name of names) {
    const path = join(base, name)
    const judged = judgeName(name)
    if (judged === 'in_use') continue
    const made = await stat(path).catch(() => null)
    // In a folder that is writable for everybody, other users could have created such a name.
    if (made === null || (process.getuid?.() !== 0 && made.uid !== process.getuid?.())) continue
    if (judged === 'unknown' && Date.now() - made.mtimeMs < UNKNOWN_OWNER_MS) continue
    await removeTree(path).catch(() => undefined)
  }
}
