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
  type SecretKey,
  type SecretRow,
} from '../../store/secrets/secrets.ts'
import { tasksUsing } from '../../store/secrets/uses.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import { type ListedUsers, listUsers, USERS_TO_LIST, usersInTheWay } from '../tasks/task-users.ts'

export const MAX_SECRETS = 1_000

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
export interface SecretInUse extends SecretRow, ListedUsers {
  /** Whether the mail settings of the project refer to it. */
  readonly isInMail: boolean
}

export async function getSecret({ db, projectId }: Context, name: string): Promise<SecretInUse> {
  const [row] = await db.run(findSecret({ projectId, name }))
  if (!row) return unknown(name)
  const users = tasksUsing({ projectId, name, limit: USERS_TO_LIST })
  const [found] = await db.snapshot((tx) => tx.run(users), { inOrder: true })
  const isInMail = await isUsedByMail(db, projectId, name)
  return { ...row, isInMail, ...listUsers(found) }
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
    if (!isForced) await refuseIfUsed(tx, { projectId, name })
    await tx.run(deleteSecret({ projectId, name }))
    const before = { version: row.version }
    await recordChange(tx, context, { action: 'secret.delete', subject: secretSubject(name), before })
  })
  vault.forget()
}

/** Returns the subject of audit log entries about a secret. */
export const secretSubject = (name: string) => ({ kind: 'secret', id: name, name }) as const

async function refuseIfUsed(tx: Queryable, { projectId, name }: SecretKey): Promise<void> {
  const users = await usersInTheWay(`the secret ${name}`, (search) =>
    tx.run(tasksUsing({ projectId, name, ...search })),
  )
  const isInMail = await isUsedByMail(tx, projectId, name)
  if (!users && !isInMail) return
  const who = [
    ...(isInMail ? [`The mail settings of the project use the secret ${name}.`] : []),
    ...(users ? [users.reason] : []),
  ]
  throw new Refusal(
    'secret_in_use',
    `${who.join(' ')} Change what uses it first, or delete it anyway with force=true; runs that need it then fail.`,
    { extra: { taskIds: users?.taskIds ?? [] } },
  )
}

function unknown(name: string): never {
  throw new Refusal('not_found', `Secret ${name} does not exist.`)
}
