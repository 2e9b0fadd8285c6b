/**
 * Lets one process at a time prepare a checkout. The lock is a directory that contains one file, named after its holder. It is
 * made under another name and renamed into place, which fails while another holder's directory is there. The lock of a dead
 * process is taken over by renaming the file inside it: its name is unique, so only one of several processes finds it. The file
 * may name a child that works for the holder: while the child lives, it holds the lock even if the holder was killed.
 */

import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 100
const MAX_WAIT_MS = 20 * 60_000
/** Each round lost means that another process got or gave back the lock. */
const MAX_ROUNDS = 1_000

/**
 * Runs `work` while holding the lock at `path`; it is given a function that names a child to the lock.
 *
 * @template T
 * @param {string} path
 * @param {(pid: number) => void} onWait called once, when another process holds it
 * @param {(nameChild: (pid: number) => void) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(path, onWait, work) {
  const token = `${identify(process.pid)}.${randomBytes(6).toString('hex')}`
  const deadline = performance.now() + MAX_WAIT_MS
  let told = false
  for (;;) {
    const holder = tryLock(path, token)
    if (holder === null) break
    if (performance.now() > deadline) throw new Error(`Process ${holder} holds ${path} for too long.`)
    if (!told) onWait(holder)
    told = true
    await delay(POLL_MS)
  }
  try {
    return await work((pid) => writeFileSync(join(path, token), identify(pid)))
  } finally {
    unlock(path, token)
  }
}

/**
 * @param {string} path
 * @param {string} token
 * @returns {number | null} the pid of the process that holds the lock, or null when it is ours now
 */
function tryLock(path, token) {
  const aside = `${path}.${token}`
  mkdirSync(aside, { recursive: true })
  writeFileSync(join(aside, token), '')
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    if (renamed(aside, path)) return null
    const [holder] = listed(path)
    const living = holder === undefined ? undefined : [holder, childOf(path, holder)].find(isAlive)
    if (holder === undefined) {
      // Given back just now, or left empty by a crash, which some systems refuse to rename over.
      removeEmpty(path)
    } else if (living !== undefined) {
      rmSync(aside, { recursive: true })
      return Number.parseInt(living, 10)
    } else if (renamed(join(path, holder), join(path, token))) {
      writeFileSync(join(path, token), '')
      rmSync(aside, { recursive: true })
      return null
    }
  }
  throw new Error(`Cannot lock ${path}.`)
}

/**
 * @param {string} path
 * @param {string} token
 */
function unlock(path, token) {
  rmSync(join(path, token), { force: true })
  removeEmpty(path)
}

/**
 * @param {string} from
 * @param {string} to
 */
function renamed(from, to) {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'EPERM', 'ENOENT'].includes(error.code)) return false
    throw error
  }
}

/** @param {string} path */
function listed(path) {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

/** @param {string} path */
function removeEmpty(path) {
  try {
    rmdirSync(path)
  } catch {
    // Taken by the next one already.
  }
}

/**
 * @param {string} path
 * @param {string} holder
 */
function childOf(path, holder) {
  try {
    return readFileSync(join(path, holder), 'utf8')
  } catch {
    return ''
  }
}

/** @param {string} identity as `identify` made it, perhaps with more behind a dot */
function isAlive(identity) {
  const [pid = '', ticks = ''] = identity.split('.')
  if (pid === '') return false
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    if (error.code !== 'EPERM') return false
  }
  return ticks === '' || startTicks(Number(pid)) === ticks
}

/** @param {number} pid */
function identify(pid) {
  return `${pid}.${startTicks(pid)}`
}

/**
 * Returns when the process started, if Linux reports it; this tells the process from a later one with the same pid, and from
 * its own zombie.
 *
 * @param {number} pid
 */
function startTicks(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state === 'Z' ? '' : (fields[18] ?? '')
  } catch {
    return ''
  }
}
