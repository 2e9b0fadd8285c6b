import type { Person } from '../../api/resources/people/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { formatDistance } from '../../core/words/time.ts'
import { confirm } from '../client/confirm.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { counted, cut, table } from '../client/printed.ts'
import { queryOf, type Server } from '../client/server.ts'
import { CliError, EXIT } from '../exit.ts'
import { onStdout as c } from '../terminal.ts'

const PAGE_SIZE = 200
const MAX_PEOPLE = 10_000
const NAME_WIDTH = 50
const GROUPS_WIDTH = 60

interface Page {
  readonly items: readonly Person[]
  readonly nextCursor: string | null
}

async function allPeople(server: Server): Promise<Person[]> {
  const people: Person[] = []
  let cursor: string | null = null
  do {
    const page: Page = await server.get<Page>(`/v1/people${queryOf({ limit: PAGE_SIZE, cursor })}`)
    people.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null && people.length < MAX_PEOPLE)
  return people
}

export async function listPeople(flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const people = await allPeople(server)
  if (people.length === 0 && !flags.json) return remark('No one has signed in with a company account yet.\n')
  give(people, flags, () =>
    table(
      ['PERSON', 'GROUPS', 'SESSIONS', 'SIGNED IN', 'ID'],
      people.map((person) => [
        cut(nameOf(person), NAME_WIDTH),
        cut(printable(person.groups.join(', ')) || '–', GROUPS_WIDTH),
        String(person.sessions),
        formatDistance(Date.parse(person.signedInAt), server.now()),
        person.id,
      ]),
    ),
  )
}

const nameOf = ({ email, name, subject }: Person): string => printable(email ?? name ?? subject)

export async function signOutPerson(
  who: string,
  flags: ClientFlags & { readonly yes?: boolean },
): Promise<void> {
  const server = serverFrom(flags)
  const people = await allPeople(server)
  const found = people.filter(({ id, email }) => id === who || email === who.toLowerCase())
  if (found.length === 0)
    throw new CliError(
      `No one has signed in as '${printable(who)}'.`,
      'To list people: belfry person list',
      EXIT.notFound,
    )
  const sessions = found.reduce((sum, person) => sum + person.sessions, 0)
  await confirm(`End ${counted(sessions, 'session')} of ${printable(who)}?`, flags)
  let ended = 0
  for (const { id } of found)
    ended += (await server.post<{ sessions: number }>(`/v1/people/${id}/sign-out`)).sessions
  give(
    { sessions: ended },
    flags,
    () => `${c.green('✓')} ${counted(ended, 'session')} of ${printable(who)} ended\n`,
  )
}
