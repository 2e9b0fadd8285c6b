/** What using a secret means for deleting it. */
import { formatCount } from '../../../src/core/words/time.ts'
import type { SecretInUse } from '../../api/secrets.ts'

type Use = Pick<SecretInUse, 'usedBy' | 'isInMail' | 'hasMoreUsers'>

export interface Deletion {
  /** The beginning of the list of what uses the secret; null if nothing does, or if that is unknown. */
  readonly users: string | null
  readonly effect: string
  readonly isReady: boolean
}

interface Decision {
  /** Whether the secret shall be deleted even if something uses it. */
  readonly isForced: boolean
  /** Whether what uses the secret could not be read. The server then decides. */
  readonly isUnread: boolean
}

/** What the dialog shows, while what uses the secret is still being read and afterwards. */
export function deletionOf(secret: Use | undefined, { isForced, isUnread }: Decision): Deletion {
  if (secret === undefined)
    return isUnread
      ? { users: null, effect: 'It is only deleted if nothing uses it.', isReady: true }
      : { users: null, effect: 'Reading what uses it…', isReady: false }
  const users = usersWords(secret)
  return users === null
    ? { users, effect: 'Nothing uses it.', isReady: true }
    : { users, effect: 'Runs that need it fail until it is set again.', isReady: isForced }
}

function usersWords({ usedBy, isInMail, hasMoreUsers }: Use): string | null {
  const users = [
    ...(isInMail ? ['the mail settings'] : []),
    ...(usedBy.length === 0 ? [] : [tasksWords(usedBy.length, hasMoreUsers)]),
  ]
  if (users.length === 0 && hasMoreUsers) return 'It may be used by tasks of this project:'
  return users.length === 0 ? null : `It is used by ${users.join(' and ')} of this project:`
}

function tasksWords(count: number, hasMore: boolean): string {
  const counted = count === 1 ? 'one task' : `${formatCount(count)} tasks`
  return hasMore ? `at least ${counted}` : counted
}
