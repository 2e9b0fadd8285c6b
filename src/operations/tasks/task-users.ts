/** The tasks that use a file or a secret, as they are listed and named. */
import type { FoundUsers, TaskUser, UserSearch } from '../../store/tasks/living-users.ts'

/** Maximum number of tasks that are listed as users. */
export const MAX_USERS = 100
/** Maximum number of tasks that an error message names. */
const MAX_NAMED = 5

/** How many users to search for, so that it is known whether there are more than are listed. */
export const USERS_TO_LIST = MAX_USERS + 1
/** Maximum number of searches for the users of something that is to be deleted. */
const MAX_SEARCHES = 20

/** What a search without a result says about the users. */
const UNKNOWN: FoundUsers = { users: [], cutAt: '' }

/** The users of something as they are listed. */
export interface ListedUsers {
  readonly usedBy: readonly TaskUser[]
  /** Whether there may be more users than are listed. */
  readonly hasMoreUsers: boolean
}

export const listUsers = ({ users, cutAt } = UNKNOWN): ListedUsers => ({
  usedBy: users.slice(0, MAX_USERS),
  hasMoreUsers: cutAt !== null || users.length > MAX_USERS,
})

/** Why something cannot be deleted because of its users. */
export interface UsersInTheWay {
  readonly reason: string
  /** Empty if it is unknown which tasks they are. */
  readonly taskIds: readonly string[]
}

/**
 * Returns the users that prevent the deletion of something; undefined if it has none. The search continues where it was cut, a
 * bounded number of times; users that it may have missed then prevent the deletion, too.
 */
export async function usersInTheWay(
  what: string,
  search: (query: UserSearch) => Promise<readonly FoundUsers[]>,
): Promise<UsersInTheWay | undefined> {
  let before: string | undefined
  for (let searches = 0; searches < MAX_SEARCHES; searches++) {
    const [{ users, cutAt } = UNKNOWN] = await search({ limit: MAX_NAMED + 1, before })
    if (users.length > 0) return named(what, users)
    if (cutAt === null) return undefined
    before = cutAt
  }
  return {
    reason: `Too many tasks have used ${what} to find out whether one of them can still run.`,
    taskIds: [],
  }
}

function named(what: string, users: readonly TaskUser[]): UsersInTheWay {
  const first = users.slice(0, MAX_NAMED)
  const names = first.map((task) => task.name ?? task.key ?? task.id).join(', ')
  const more = users.length > MAX_NAMED ? ' and others' : ''
  return { reason: `Tasks use ${what}: ${names}${more}.`, taskIds: first.map(({ id }) => id) }
}
