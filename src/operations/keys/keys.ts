/** Manages API keys. No caller can create a key with more rights, a wider reach or a longer life than their own. */
import { randomBytes } from 'node:crypto'
import { hashOfKey, hintOf, makeApiKey } from '../../core/access/api-key.ts'
import { allows, type Reach, type Role, UNLIMITED } from '../../core/access/role.ts'
import { invalidInput, type Problem, Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import {
  editFrom,
  inWords,
  type KeyLimits,
  type LimitsEdit,
  NO_KEY_LIMITS,
} from '../../core/limits/limits.ts'
import { isInside, parseNetwork } from '../../core/values/network.ts'
import { utc, utcOrNull } from '../../core/values/utc.ts'
import {
  type ApiKeyRow,
  countGoodKeys,
  insertKey,
  type KeyScope,
  listKeys,
  lockKey,
  type OtherAdmins,
  readKey,
  revokeKey,
  rotateKey,
  setKeyLimits,
} from '../../store/access/api-keys.ts'
import type { Queryable } from '../../store/database/database.ts'
import { lockCount } from '../../store/database/lock-count.ts'
import { knownProjectByName } from '../../store/projects/projects.ts'
import { type Caller, recordChange } from '../audit-log/record-change.ts'
import { type Context, nameOf } from '../context.ts'
import { editedWithin, exceeds, limitsWithin, refuseNoRoom } from './key-limits.ts'

/** Maximum number of valid keys of a project, or of the installation; enough for one per machine. */
const MAX_KEYS = 1_000
/** The same limit for rotations: a replaced key stays valid beside its successor for a while. */
const MAX_KEYS_ROTATING = 2 * MAX_KEYS

/** The key to create. */
export interface KeyToMake extends Reach {
  readonly name: string
  readonly role: Role
  /** Null for the installation. Undefined for the installation if the caller manages it, otherwise for the caller's project. */
  readonly project?: string | null | undefined
}

/** A key that was just created, for the only response that shows it. */
export interface MadeKey {
  readonly id: string
  readonly key: string
}

export async function createKey(context: Context, wanted: KeyToMake): Promise<ApiKeyRow & MadeKey> {
  const { db, reach, clock, wakeUps, actor } = context
  const projectId = await projectFor(context, wanted.project)
  const allowed = reachWithin(reach, wanted, clock.now())
  // Only an open server has callers who are anonymous here. Others were given their rights by an admin.
  const others = { areThere: actor.kind !== 'anonymous', canBeMembers: false }
  const made = await storeKey(context, { ...wanted, ...allowed, projectId, createdBy: nameOf(actor) }, others)
  wakeUps.announceAccess()
  const scope = { ...scopeOf(context), ...(projectId === null ? {} : { projectId }) }
  return { ...(await theKey(db, scope, made.id)), ...made }
}

/** Stores a key without checking rights: the caller has checked them already. The first key must be an admin of the installation. */
export function storeKey(
  caller: Caller & Pick<Context, 'db'>,
  key: Omit<KeyToMake, 'project'> & { readonly projectId: string | null; readonly createdBy: string | null },
  others: OtherAdmins,
): Promise<MadeKey> {
  const { text, ...secret } = newSecret()
  const id = uuidv7()
  return caller.db.transaction(async (tx) => {
    const { projectId, name } = key
    await refuseTooMany(tx, projectId, MAX_KEYS)
    const [stored] = await tx.run(insertKey({ ...key, ...secret, id }, others))
    if (!stored)
      throw new Refusal(
        'no_admin_key',
        'The first API key must have the role admin for all projects, and no queues (belfry key create --role admin): from then on the server requires a key, and only an admin can create others.',
      )
    await recordChange(tx, caller, {
      action: 'key.create',
      projectId,
      subject: { kind: 'key', id, name },
      after: recorded(key),
    })
    return { id, key: text }
  })
}

/** Locks the count until the commit, so that no other key is added meanwhile and the limit is exact. */
async function refuseTooMany(tx: Queryable, projectId: string | null, limit: number): Promise<void> {
  await tx.run(lockCount('keys', projectId))
  const [good] = await tx.run(countGoodKeys(projectId))
  if (good && good.count < limit) return
  const owner = projectId === null ? 'The installation' : 'The project'
  throw new Refusal(
    'too_many_keys',
    `${owner} has ${limit} valid API keys, which is the limit. Revoke keys that are no longer used.`,
  )
}

/** Returns the part of a key that the audit log records. */
const recorded = ({
  name,
  role,
  queues,
  networks,
  expiresAt,
  limits,
}: Reach & { name: string; role: Role }) => ({
  name,
  role,
  queues,
  networks,
  limits: limits && inWords(limits),
  expiresAt: utcOrNull(expiresAt),
})

function newSecret() {
  const text = makeApiKey(randomBytes)
  return { text, hash: Buffer.from(hashOfKey(text), 'base64'), hint: hintOf(text) }
}

/** Returns the project that a new key is for; null for the installation. */
async function projectFor(
  { db, grant, projectId }: Context,
  name: string | null | undefined,
): Promise<string | null> {
  if (name === undefined) return allows(grant, projectId, 'installation') ? null : projectId
  if (name === null) {
    if (allows(grant, projectId, 'installation')) return null
    throw new Refusal('forbidden', 'Keys of the installation need the role admin of the installation.')
  }
  const [project] = await db.run(knownProjectByName(name))
  if (project && allows(grant, project.id, 'administer')) return project.id
  throw new Refusal('not_found', `Project ${name} does not exist.`)
}

/**
 * Returns the reach of a new key: what was requested, which must be within the caller's own reach; the caller's own where
 * nothing was requested.
 */
function reachWithin(own: Reach, wanted: Reach, now: number): Reach {
  const problems: Problem[] = []
  const refuse = (pointer: string, detail: string) => void problems.push({ pointer, detail })
  const { queues, networks, expiresAt } = wanted
  const { queues: ownQueues, networks: ownNetworks } = own
  if (ownQueues !== null && queues?.some((queue) => !ownQueues.includes(queue)))
    refuse('/queues', `must be among those of your own key: ${ownQueues.join(', ')}`)
  const within = networksOf(ownNetworks)
  if (ownNetworks !== null && networksOf(networks).some((network) => !isInside(within, network)))
    refuse('/networks', `must be within those of your own key: ${ownNetworks.join(', ')}`)
  if (expiresAt !== null && expiresAt <= now) refuse('/expiresAt', 'must be in the future')
  if (expiresAt !== null && own.expiresAt !== null && expiresAt > own.expiresAt)
    refuse('/expiresAt', `must not be later than your own key expires, at ${utc(own.expiresAt)}`)
  const limits = limitsWithin(own.limits, wanted.limits, (problem) => void problems.push(problem))
  if (problems.length > 0) throw invalidInput(problems)
  if (limits) refuseNoRoom(limits)
  return {
    queues: queues ?? ownQueues,
    networks: networks ?? ownNetworks,
    expiresAt: expiresAt ?? own.expiresAt,
    limits,
  }
}

/** Returns whether a key's queues, networks or limits allow more than the caller's own reach. */
function reachesBeyond(own: Reach, { queues, networks, limits }: Reach): boolean {
  const { queues: ownQueues, networks: ownNetworks } = own
  if (ownQueues !== null && !queues?.every((queue) => ownQueues.includes(queue))) return true
  const within = networksOf(ownNetworks)
  if (
    ownNetworks !== null &&
    !(networks && networksOf(networks).every((network) => isInside(within, network)))
  )
    return true
  return exceeds(limits, own.limits)
}

/** Rejects a caller whose key is restricted, for a change that gives others access without restrictions. */
export function requireUnrestricted({ reach }: Pick<Context, 'reach'>, change: string): void {
  if (reach.expiresAt !== null || reachesBeyond(reach, UNLIMITED))
    throw new Refusal(
      'forbidden',
      `This API key cannot ${change}, because they would not have its expiry, queues, networks and limits. Use a key without these restrictions.`,
    )
}

const networksOf = (texts: readonly string[] | null) =>
  (texts ?? []).flatMap((text) => parseNetwork(text) ?? [])

/**
 * Returns the keys that the caller manages: those of its project and, for admins of the installation, also those of the
 * installation.
 */
const scopeOf = ({ projectId, grant }: Context): KeyScope => ({
  projectId,
  withInstallation: allows(grant, projectId, 'installation'),
})

export function findKeys(
  context: Context,
  page: { readonly before: string | null; readonly limit: number },
): Promise<ApiKeyRow[]> {
  return context.db.run(listKeys(scopeOf(context), page))
}

export const getKey = (context: Context, id: string): Promise<ApiKeyRow> =>
  theKey(context.db, scopeOf(context), id)

async function theKey(db: Queryable, scope: KeyScope, id: string): Promise<ApiKeyRow> {
  const [key] = await db.run(readKey(scope, id))
  if (!key) throw new Refusal('not_found', `API key ${id} does not exist.`)
  return key
}

async function lockedKey(tx: Queryable, scope: KeyScope, id: string): Promise<ApiKeyRow> {
  await tx.run(lockKey(scope, id))
  return theKey(tx, scope, id)
}

/** Changes the limits of a key. All nodes apply the change within a second. */
export async function limitKey(
  context: Context,
  id: string,
  edit: LimitsEdit<KeyLimits>,
): Promise<ApiKeyRow> {
  const { db, reach, wakeUps } = context
  const scope = scopeOf(context)
  await db.transaction(async (tx) => {
    const before = await lockedKey(tx, scope, id)
    const problems: Problem[] = []
    const refuse = (problem: Problem) => void problems.push(problem)
    const limits = editedWithin(
      reach.limits,
      before.limits ?? NO_KEY_LIMITS,
      editFrom<KeyLimits>(edit),
      refuse,
    )
    if (problems.length > 0) throw invalidInput(problems)
    if (limits) refuseNoRoom(limits)
    await tx.run(setKeyLimits(id, limits ?? NO_KEY_LIMITS))
    await recordChange(tx, context, {
      action: 'key.edit',
      projectId: before.projectId,
      subject: { kind: 'key', id, name: before.name },
      before: recorded(before),
      after: recorded({ ...before, limits }),
    })
  })
  wakeUps.announceAccess()
  return theKey(db, scope, id)
}

export async function endKey(context: Context, id: string): Promise<void> {
  const { db, wakeUps } = context
  const scope = scopeOf(context)
  await db.transaction(async (tx) => {
    const old = await lockedKey(tx, scope, id)
    await tx.run(revokeKey(scope, id))
    if (old.revokedAt !== null) return
    await recordChange(tx, context, {
      action: 'key.revoke',
      projectId: old.projectId,
      subject: { kind: 'key', id, name: old.name },
      before: recorded(old),
    })
  })
  wakeUps.announceAccess()
}

/** How a key is replaced. */
export interface Rotation {
  /** For how long the old key stays valid. */
  readonly overlapMs: number
  /** When the new key expires; null for a lifetime as long as the old key's. */
  readonly expiresAt: number | null
}

/** Creates a key with the same rights; the old one expires after the overlap. */
export async function replaceKey(
  context: Context,
  id: string,
  { overlapMs, expiresAt }: Rotation,
): Promise<ApiKeyRow & MadeKey> {
  const { db, reach, clock, wakeUps, actor } = context
  const scope = scopeOf(context)
  const { text, ...secret } = newSecret()
  const made = await db.transaction(async (tx) => {
    const old = await lockedKey(tx, scope, id)
    if (reachesBeyond(reach, old))
      throw new Refusal(
        'forbidden',
        'This API key can only rotate keys with the same or stricter queues, networks and limits. Use a key without these restrictions.',
      )
    const now = clock.now()
    const { expiresAt: ends } = reachWithin(
      reach,
      { ...old, expiresAt: expiresAt ?? lifeOf(old, reach, now) },
      now,
    )
    await refuseTooMany(tx, old.projectId, MAX_KEYS_ROTATING)
    const successor = { ...secret, id: uuidv7(), createdBy: nameOf(actor), expiresAt: ends, overlapMs }
    const [rotated] = await tx.run(rotateKey(scope, id, successor))
    if (!rotated)
      throw new Refusal('key_ended', `API key ${id} has expired, was revoked, or was rotated before.`)
    await recordChange(tx, context, {
      action: 'key.rotate',
      projectId: old.projectId,
      subject: { kind: 'key', id, name: old.name },
      before: { id, expiresAt: utcOrNull(old.expiresAt) },
      after: { id: rotated.id, expiresAt: utcOrNull(ends), overlapMs },
    })
    return theKey(tx, scope, rotated.id)
  })
  wakeUps.announceAccess()
  return { ...made, key: text }
}

/** Returns when a successor expires: after a lifetime as long as the old key's, but not later than the caller's own key. */
function lifeOf({ expiresAt, createdAt }: ApiKeyRow, own: Reach, now: number): number | null {
  if (expiresAt === null) return own.expiresAt
  return Math.min(Math.ceil(now + expiresAt - createdAt), own.expiresAt ?? Number.POSITIVE_INFINITY)
}
