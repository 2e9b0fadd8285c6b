/**
 * Ensures that only one Belfry process uses a data directory. The claim is the file `belfry.json`, which names the process that
 * wrote it; a claim whose process has ended is stale and can be taken over.
 *
 * Claims are created atomically: the file is written under another name and then linked, and linking fails if the name exists.
 * Naive takeovers have a race: two processes see the same stale claim, the first replaces it, and the second replaces the
 * first's claim. Here, a process that wants to replace a claim must first hold the claim on replacing it (`belfry.json.<id of
 * the stale claim>`), then check again. That inner claim follows the same rules, so a crash halfway is handled in the same way.
 */

import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, startTimeOf } from '../runtime/process-identity.ts'
import { describeFileError, EmbeddedPostgresError, errnoOf } from './errors.ts'
import { type Rights, withRightsOf } from './rights.ts'

/** The process that holds a data directory. */
export interface Owner {
  readonly pid: number
  /** Distinguishes the process from a later one with the same pid; null if the system does not provide it. */
  readonly startTime: string | null
  /** URL of the owner; null until it is known. */
  readonly url: string | null
  /** The owner's node id in the database; null until it is known. */
  readonly nodeId: string | null
  readonly claimedAt: string
}

/** The claim this process holds. */
export interface Ownership {
  readonly owner: Owner
  /** The previous owner, which ended without releasing its claim; null if there was none. */
  readonly predecessor: Owner | null
  /** Records information about this process for others, such as its URL. */
  update(info: { url: string | null; nodeId: string }): void
  release(): void
}

interface Claim extends Owner {
  readonly id: string
}

/**
 * Maximum depth of nested claims, each left by a process that crashed while replacing the previous one; more cannot be a
 * coincidence.
 */
const MAX_DEPTH = 8
/**
 * Maximum number of rounds lost to other processes that claim and release the directory; each lost round means that another
 * process made progress.
 */
const MAX_ROUNDS = 50

const claimPath = (dataDir: string) => join(dataDir, 'belfry.json')

/** Returns the live process that holds `dataDir`; null if there is none. */
export function readOwner(dataDir: string): Owner | null {
  const claim = readClaim(claimPath(dataDir))
  return claim !== null && holds(claim) ? claim : null
}

/**
 * Claims `dataDir`, which must exist, or throws `data_dir_in_use`. Of any number of concurrent callers, one succeeds. As root,
 * the claim is written with `rights`, the privileges of the directory's owner.
 */
export function claimOwnership(dataDir: string, rights: Rights | null = null): Ownership {
  let claim: Claim = {
    id: randomUUID(),
    pid: process.pid,
    startTime: startTimeOf(process.pid),
    url: null,
    nodeId: null,
    claimedAt: new Date().toISOString(),
  }
  const path = claimPath(dataDir)
  let predecessor: Owner | null
  try {
    predecessor = withRightsOf(rights, () => acquire(path, claim, 0))
  } catch (error) {
    throw describeFileError(error, dataDir)
  }
  return {
    get owner() {
      return claim
    },
    predecessor,
    update(info) {
      claim = { ...claim, ...info }
      withRightsOf(rights, () => replace(path, claim))
    },
    release() {
      withRightsOf(rights, () => {
        if (readClaim(path)?.id === claim.id) rmSync(path, { force: true })
      })
    },
  }
}

/** Returns the stale claim that was replaced, if there was one. */
function acquire(path: string, claim: Claim, depth: number): Claim | null {
  for (let round = 0; round < MAX_ROUNDS && depth < MAX_DEPTH; round += 1) {
    if (createExclusively(path, claim)) return null
    const current = readClaim(path)
    if (current === null) continue // Released between the two looks.
    if (holds(current)) throw inUse(current)
    const right = `${path}.${current.id}`
    acquire(right, { ...claim, id: randomUUID() }, depth + 1)
    try {
      // Another process may have replaced the claim and released the inner claim before this process got it.
      if (readClaim(path)?.id !== current.id) continue
      replace(path, claim)
      return current
    } finally {
      unlinkSync(right)
    }
  }
  throw new EmbeddedPostgresError(
    'data_dir_in_use',
    `Cannot lock ${path}: other processes keep locking it.`,
    'Stop the other processes that use this directory.',
  )
}

function createExclusively(path: string, claim: Claim): boolean {
  const draft = writeDraft(path, claim)
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

function replace(path: string, claim: Claim): void {
  renameSync(writeDraft(path, claim), path)
}

function writeDraft(path: string, claim: Claim): string {
  const draft = `${path}.draft-${randomUUID()}`
  writeFileSync(draft, `${JSON.stringify(claim, null, 2)}\n`, { flag: 'wx', mode: 0o644 })
  return draft
}

function readClaim(path: string): Claim | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  }
  // Only a power failure can leave a claim that does not parse, and no process survives one.
  return parseClaim(text) ?? UNREADABLE
}

const UNREADABLE: Claim = {
  id: 'unreadable',
  pid: 0,
  startTime: null,
  url: null,
  nodeId: null,
  claimedAt: '',
}

function parseClaim(text: string): Claim | null {
  try {
    const { id, pid, startTime, url, nodeId, claimedAt } = JSON.parse(text) as Partial<Claim>
    if (typeof id !== 'string' || !/^[0-9a-f-]{36}$/.test(id) || typeof pid !== 'number') return null
    return {
      ...{ id, pid, claimedAt: claimedAt ?? '' },
      ...{ startTime: startTime ?? null, url: url ?? null, nodeId: nodeId ?? null },
    }
  } catch {
    return null
  }
}

function holds(claim: Owner): boolean {
  if (claim.pid <= 0 || !isAlive(claim.pid)) return false
  const startTime = startTimeOf(claim.pid)
  return claim.startTime === null || startTime === null || claim.startTime === startTime
}

function inUse({ pid, url }: Owner): EmbeddedPostgresError {
  const where = url === null ? `pid ${pid}` : `pid ${pid}, ${url}`
  return new EmbeddedPostgresError(
    'data_dir_in_use',
    `Already running (${where}).`,
    'Use the running server, stop it first, or use another --data-dir.',
    { holder: { pid, url } },
  )
}
