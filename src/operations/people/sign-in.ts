/**
 * Signing in to and out of the dashboard. Both are recorded in the audit log; failures are recorded with all other rejected
 * requests.
 */
import { hashOfKey } from '../../core/access/api-key.ts'
import { Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import { isWithin } from '../../core/values/network.ts'
import { findPerson, type Identity, savePerson } from '../../store/access/people.ts'
import type { Holder, SessionRow } from '../../store/access/sessions.ts'
import type { Queryable } from '../../store/database/database.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Actor, Context } from '../context.ts'
import { actorOfKey, type GoodKey, type KeyBook } from '../keys/key-book.ts'
import type { SessionBook } from '../sessions/session-book.ts'
import type { SignInAttempts } from './sign-in-attempts.ts'

/** A session that was just begun. */
export interface BegunSession {
  /** The token that the browser keeps; it is stored nowhere else. */
  readonly token: string
}

/** Begins a session of a person whom the provider has just described. */
export async function signInPerson(
  context: Context,
  sessions: SessionBook,
  identity: Identity,
): Promise<BegunSession> {
  return context.db.transaction(async (tx) => {
    const [person] = await tx.run(savePerson(uuidv7(), identity))
    if (!person) throw new Error('the person was not stored')
    const { id } = person
    const name = identity.email ?? identity.name ?? identity.subject
    const actor = { kind: 'person', id, name, address: addressOf(context) } as const
    return begin(tx, context, { sessions, holder: { personId: id, keyHash: null }, actor })
  })
}

/** What signing in with a key needs. */
export interface KeySignIn {
  readonly keys: KeyBook
  readonly sessions: SessionBook
  readonly attempts: SignInAttempts
}

/** Begins a session with a key. The session ends when the key does. */
export async function signInWithKey(
  context: Context,
  key: string,
  { keys, sessions, attempts }: KeySignIn,
): Promise<BegunSession> {
  const address = addressOf(context)
  await attempts.begin(address)
  const found = await keys.find(key)
  if (!found || !isUsableFrom(found, address))
    throw new Refusal(
      'unauthenticated',
      'This API key is not valid here: it does not exist, has expired, was revoked, or is limited to other networks.',
    )
  await attempts.succeed(address)
  if (found.role === 'worker')
    throw new Refusal('forbidden', 'API keys with the role worker cannot sign in to the dashboard.')
  const holder = { personId: null, keyHash: hashOfKey(key) }
  return context.db.transaction((tx) =>
    begin(tx, context, { sessions, holder, actor: actorOfKey(found, address) }),
  )
}

const isUsableFrom = ({ networks }: GoodKey, address: string | null): boolean =>
  networks === null || (address !== null && isWithin(networks, address))

/** Sessions belong to no project and have no name. */
const SESSION = { subject: { kind: 'session', id: null }, projectId: null } as const

const addressOf = ({ actor }: Context): string | null => ('address' in actor ? actor.address : null)

interface Beginning {
  readonly sessions: SessionBook
  readonly holder: Holder
  readonly actor: Actor
}

async function begin(
  tx: Queryable,
  context: Context,
  { sessions, holder, actor }: Beginning,
): Promise<BegunSession> {
  const { id, token } = await sessions.begin(tx, holder)
  await recordChange(tx, { ...context, actor }, { ...ofSession(id), action: 'signin.succeeded' })
  return { token }
}

const ofSession = (id: string) => ({ subject: { kind: 'session', id }, projectId: null }) as const

/** The sessions, and the keys of their holders. */
type Sessions = Pick<KeySignIn, 'keys' | 'sessions'>

export async function signOut(
  context: Context,
  { keys, sessions }: Sessions,
  session: SessionRow,
): Promise<void> {
  const { id } = session
  await context.db.transaction(async (tx) => {
    const actor = await actorOf(tx, context, { keys, holder: session })
    if (await sessions.end(tx, id))
      await recordChange(tx, { ...context, actor }, { ...ofSession(id), action: 'session.end' })
  })
  sessions.announce()
}

/** Ends all sessions of the same person, or all that were begun with the same key. Returns how many there were. */
export async function signOutEverywhere(
  context: Context,
  { keys, sessions }: Sessions,
  holder: Holder,
): Promise<number> {
  const ended = await context.db.transaction(async (tx) => {
    const actor = await actorOf(tx, context, { keys, holder })
    const count = await sessions.endAll(tx, holder)
    if (count > 0)
      await recordChange(
        tx,
        { ...context, actor },
        { ...SESSION, action: 'session.end', after: { sessions: count } },
      )
    return count
  })
  sessions.announce()
  return ended
}

/** Returns the person or the key whose session ends; the caller, if the key has ended meanwhile. */
async function actorOf(
  tx: Queryable,
  context: Context,
  { keys, holder: { personId, keyHash } }: { keys: KeyBook; holder: Holder },
): Promise<Actor> {
  const key = keyHash === null ? null : await keys.findByHash(keyHash)
  if (key) return actorOfKey(key, addressOf(context))
  const [person] = personId === null ? [] : await tx.run(findPerson(personId))
  if (!person) return context.actor
  return {
    kind: 'person',
    id: person.id,
    name: person.email ?? person.name,
    address: addressOf(context),
  }
}
