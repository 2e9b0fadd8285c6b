/** Stores the tokens of Slack addresses as secrets: takes them out of the definitions, and stores them in the same transaction. */
import type { Action } from '../../core/action/action.ts'
import { Refusal } from '../../core/errors.ts'
import { type Tokens, tokenlessAction } from '../../core/secret/slack-address.ts'
import { ShortMemory } from '../../runtime/short-memory.ts'
import { mapInTurns } from '../../runtime/turns.ts'
import { secretBinding } from '../../secrets/vault.ts'
import { appendEntries } from '../../store/audit-log/audit-log.ts'
import type { Database, Queryable } from '../../store/database/database.ts'
import { lockProject } from '../../store/projects/projects.ts'
import { closeForSealing, noteKey } from '../../store/secrets/keys.ts'
import { holdSecrets, insertSecrets, insertSecretVersions } from '../../store/secrets/secrets.ts'
import { entryOf } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import { MAX_SECRETS, secretSubject } from './secrets.ts'

/** The inputs as they are to be stored, and the tokens that were taken out of them. */
export interface Given<T> {
  readonly inputs: readonly T[]
  readonly tokens: Tokens
}

/** Takes the tokens out of actions. If tokens cannot be stored as secrets yet, returns the inputs unchanged. */
export async function withoutTokens<T extends { readonly action?: Action | undefined }>(
  context: Pick<Context, 'db' | 'vault'>,
  given: readonly T[],
): Promise<Given<T>> {
  const tokens = new Map<string, string>()
  const isConcerned = given.some(({ action }) => action?.type === 'slack')
  if (!isConcerned || !(await canKeepTokens(context))) return { inputs: given, tokens }
  const inputs = await mapInTurns(given, (input) => {
    const found = input.action && tokenlessAction(input.action)
    if (!found) return input
    for (const [name, token] of found.tokens) tokens.set(name, token)
    if (tokens.size > MAX_SECRETS) throw tooMany()
    return { ...input, action: found.value }
  })
  return { inputs, tokens }
}

/** How long the answer is cached whether all nodes have the key. */
const FRESH_MS = 1_000
const known = new WeakMap<Database, ShortMemory<boolean>>()

/**
 * Returns whether every live node can read secrets. Otherwise a node without the key could no longer run a task that it could
 * run before.
 */
export async function canKeepTokens({ db, vault }: Pick<Context, 'db' | 'vault'>): Promise<boolean> {
  if (!vault.isReady) return false
  const memory = known.get(db) ?? new ShortMemory({ freshMs: FRESH_MS, max: 1 })
  known.set(db, memory)
  return memory.get('', async () => (await db.run(closeForSealing())).length > 0)
}

/**
 * Creates the secrets of tokens that have none yet. A name is derived from the value, so existing secrets need not be read. If
 * several transactions create the same secret, the first one does; the others wait for its commit.
 */
export async function keepTokens(tx: Queryable, context: Context, tokens: Tokens): Promise<void> {
  const { projectId, vault } = context
  if ((await missing(tx, projectId, [...tokens.keys()])).length === 0) return
  const ring = vault.requireRing()
  await tx.run(lockProject(projectId))
  const names = await missing(tx, projectId, [...tokens.keys()])
  if (names.length === 0) return
  await tx.run(noteKey(ring.first.fingerprint))
  const made = await tx.run(insertSecrets({ projectId, names, most: MAX_SECRETS }))
  if (made.length === 0) throw tooMany()
  const versions = made.map(({ name, version }) => {
    const value = Buffer.from(tokens.get(name) ?? '')
    const { sealed, keyId } = ring.seal(value, secretBinding({ projectId, name, version }))
    return { projectId, name, version, value: sealed, keyId }
  })
  await tx.run(insertSecretVersions(versions))
  const entries = made.map(({ name, version }) =>
    entryOf(context, { action: 'secret.set', subject: secretSubject(name), after: { version } }),
  )
  await tx.run(appendEntries(entries))
}

async function missing(tx: Queryable, projectId: string, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return []
  const held = new Set((await tx.run(holdSecrets(projectId, names))).map(({ name }) => name))
  return names.filter((name) => !held.has(name))
}

const tooMany = () =>
  new Refusal(
    'too_many_stored_secrets',
    `Slack addresses are stored as secrets, and with these the project would have more than ${MAX_SECRETS}. Delete secrets that are not used, or use fewer different addresses.`,
  )
