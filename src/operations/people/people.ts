/** Lists people who have signed in, and signs them out, for admins. */
import { Refusal } from '../../core/errors.ts'
import { findPerson, listPeople, type PersonRow } from '../../store/access/people.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import type { SessionBook } from '../sessions/session-book.ts'

export function findPeople(
  { db }: Context,
  page: { readonly after: string | null; readonly limit: number },
): Promise<PersonRow[]> {
  return db.run(listPeople(page))
}

/** Ends all sessions of another person. Returns how many there were. */
export async function signOutPerson(context: Context, sessions: SessionBook, id: string): Promise<number> {
  const ended = await context.db.transaction(async (tx) => {
    const [person] = await tx.run(findPerson(id))
    if (!person) throw new Refusal('not_found', `Person ${id} does not exist.`)
    const count = await sessions.endAll(tx, { personId: id, keyHash: null })
    await recordChange(tx, context, {
      action: 'session.end',
      subject: { kind: 'session', id, name: person.email ?? person.name },
      projectId: null,
      after: { sessions: count },
    })
    return count
  })
  sessions.announce()
  return ended
}
