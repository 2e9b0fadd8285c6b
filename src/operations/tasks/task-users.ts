/** The tasks that use a file or a secret, as they are listed and named. */
import type { FoundUsers, TaskUser } from '../../store/tasks/living-users.ts'

/** Maximum number of tasks that are listed as users. */
export const MAX_USERS = 100
/** Maximum number of tasks that an error message names. */
const MAX_NAMED = 5

/** How many users to search for, so that it is known whether there are more than are listed. */
export const USERS_TO_LIST = MAX_USERS + 1
/** The same for an error message. */
export const USERS_TO_NAME = MAX_NAMED + 1

/** What a search without a result says about the users. */
const UNKNOWN: FoundUsers = { users: [], isCut: true }

/** The users of something as they are listed. */
export interface ListedUsers {
  readonly usedBy: readonly TaskUser[]
  /** Whether there may be more users than are listed. */
  readonly hasMoreUsers: boolean
}

export const listUsers = ({ users, isCut } = UNKNOWN): ListedUsers => ({
  usedBy: users.slice(0, MAX_USERS),
  hasMoreUsers: isCut || users.length > MAX_USERS,
})

/** Why something cannot be deleted because of its users. */
export interface UsersInTheWay {
  readonly reason: string
  readonly taskIds: readonly string[]
}

/**
 * Returns the users that prevent the deletion of something; undefined if it has none. Users that a search may have missed
 * prevent it too.
 */
export function usersInTheWay(what: string, { users, isCut } = UNKNOWN): UsersInTheWay | undefined {
  if (users.length === 0)
    return isCut
      ? { reason: `Too many tasks have used ${what} to find out whether one still does.`, taskIds: [] }
      : undefined
  const named = users.slice(0, MAX_NAMED)
  const names = named.map((task) => task.name ?? task.key ?? task.id).join(', ')
  const more = users.length > MAX_NAMED ? ' and others' : ''
  return { reason: `Tasks use ${what}: ${names}${more}.`, taskIds: named.map(({ id }) => id) }
}
