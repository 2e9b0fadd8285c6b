/** Secrets of a project: editors can write them, nobody can read them. Only attempts get their values. */
import { mailSecretsOf } from '../../core/action/mail-settings.ts'
import { invalidInput, Refusal } from '../../core/errors.ts'
import { mayHold } from '../../core/secret/slack-address.ts'
import { secretBinding } from '../../secrets/vault.ts'
import type { Queryable } from '../../store/database/database.ts'
import { lockProject, mailSettingsOf } from '../../store/projects/projects.ts'
import { closeToOlderBuilds, noteKey, olderNodes } from '../../store/secrets/keys.ts'
import {
  deleteSecret,
  findSecret,
  insertSecretVersion,
  listSecrets,
  lockSecret,
  nextSecretVersion,
  type SecretRow,
  type SecretUser,
  tasksUsing,
} from '../../store/secrets/secrets.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'

export const MAX_SECRETS = 1_000
/** Maximum number of tasks that are listed as users of a secret. */
const MAX_USERS = 100
/** Maximum number of tasks that an error message names. */
const MAX_NAMED = 5

/** A secret that was written. */
export interface WrittenSecret extends SecretRow {
  readonly isNew: boolean
}

const OTHER_TOKEN =
  'must be the original token: Belfry stored a Slack address as this secret, and derived its name from the token. To use another address, edit the tasks, or choose another name for the secret'

/** Creates a secret, or a new version of it. Attempts that begin afterwards get the new value. */
export async function setSecret(context: Context, name: string, value: string): Promise<WrittenSecret> {
  const { db, projectId, vault } = context
  if (!mayHold(name, value)) throw invalidInput([{ pointer: '/value', detail: OTHER_TOKEN }])
  const ring = vault.requireRing()
  const [closed] = await db.run(closeToOlderBuilds())
  if (!closed) throw await olderNodesAlive(context)
  const written = await db.transaction(async (tx) => {
    await tx.run(lockProject(projectId))
    await tx.run(noteKey(ring.first.fingerprint))
    const [row] = await tx.run(nextSecretVersion({ projectId, name, most: MAX_SECRETS }))
    if (!row)
      throw new Refusal(
        'too_many_stored_secrets',
        `The project has reached the limit of ${MAX_SECRETS} secrets. Delete one that is not used.`,
      )
    const { version } = row
    const { sealed, keyId } = ring.seal(Buffer.from(value), secretBinding({ projectId, name, version }))
    await tx.run(insertSecretVersion({ projectId, name, version, value: sealed, keyId }))
    const before = row.isNew ? {} : { before: { version: version - 1 } }
    await recordChange(tx, context, {
      action: 'secret.set',
      subject: secretSubject(name),
      ...before,
      after: { version },
    })
    return row
  })
  vault.forget()
  return written
}

async function olderNodesAlive({ db }: Context): Promise<Refusal> {
  const nodes = (await db.run(olderNodes())).map(({ name, version }) => `${name} (${version})`)
  return new Refusal(
    'older_nodes',
    `Nodes of an older release, which cannot read secrets, are running: ${nodes.join(', ')}. Upgrade or stop them first.`,
  )
}

export const readAllSecrets = (
  { db, projectId }: Context,
  page: { readonly after: string | null; readonly limit: number },
): Promise<SecretRow[]> => db.run(listSecrets({ projectId, ...page }))

/** A secret, and what refers to it. */
export interface SecretInUse extends SecretRow {
  /** Whether the mail settings of the project refer to it. */
  readonly isInMail: boolean
  readonly usedBy: readonly SecretUser[]
  /** Whether more tasks refer to it than are listed. */
  readonly hasMoreUsers: boolean
}

export async function getSecret({ db, projectId }: Context, name: string): Promise<SecretInUse> {
  const [row] = await db.run(findSecret({ projectId, name }))
  if (!row) return unknown(name)
  const users = await db.run(tasksUsing({ projectId, name, limit: MAX_USERS + 1 }))
  const isInMail = await isUsedByMail(db, projectId, name)
  return { ...row, isInMail, usedBy: users.slice(0, MAX_USERS), hasMoreUsers: users.length > MAX_USERS }
}

async function isUsedByMail(db: Queryable, projectId: string, name: string): Promise<boolean> {
  const [settings] = await db.run(mailSettingsOf(projectId))
  return settings !== undefined && mailSecretsOf(settings).includes(name)
}

/** Deletes a secret. It is not deleted while anything refers to it, unless forced. */
export async function removeSecret(
  context: Context,
  name: string,
  { isForced }: { readonly isForced: boolean },
): Promise<void> {
  const { db, projectId, vault } = context
  await db.transaction(async (tx) => {
    const [row] = await tx.run(lockSecret({ projectId, name }))
    if (!row) return unknown(name)
    const users = isForced ? [] : await tx.run(tasksUsing({ projectId, name, limit: MAX_NAMED + 1 }))
    const isInMail = !isForced && (await isUsedByMail(tx, projectId, name))
    if (users.length > 0 || isInMail) throw inUse(name, users, isInMail)
    await tx.run(deleteSecret({ projectId, name }))
    const before = { version: row.version }
    await recordChange(tx, context, { action: 'secret.delete', subject: secretSubject(name), before })
  })
  vault.forget()
}

/** Returns the subject of audit log entries about a secret. */
export const secretSubject = (name: string) => ({ kind: 'secret', id: name, name }) as const

function inUse(name: string, users: readonly SecretUser[], isInMail: boolean): Refusal {
  const named = users.slice(0, MAX_NAMED).map((task) => `${task.name ?? task.key ?? task.id}`)
  const more = users.length > MAX_NAMED ? ' and others' : ''
  const who = [
    ...(isInMail ? [`The mail settings of the project use the secret ${name}.`] : []),
    ...(users.length > 0 ? [`Tasks use the secret ${name}: ${named.join(', ')}${more}.`] : []),
  ]
  return new Refusal(
    'secret_in_use',
    `${who.join(' ')} Change them first, or delete it anyway with force=true; runs that need it then fail.`,
    { extra: { taskIds: users.slice(0, MAX_NAMED).map(({ id }) => id) } },
  )
}

function unknown(name: string): never {
  throw new Refusal('not_found', `Secret ${name} does not exist.`)
}
