import type { Member } from '../../api/resources/members/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { formatDistance } from '../../core/words/time.ts'
import { confirm } from '../client/confirm.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { cut, table } from '../client/printed.ts'
import { namingAll } from '../client/refusal.ts'
import { CliError, EXIT } from '../exit.ts'
import { onStdout as c } from '../terminal.ts'

const WHO_WIDTH = 60

interface ScopeFlags extends ClientFlags {
  readonly installation?: boolean
}

const pathOf = ({ installation }: ScopeFlags) => (installation ? '/v1/installation/members' : '/v1/members')
const whoOf = ({ email, group }: Member): string => email ?? group ?? ''

export async function listMembers(flags: ScopeFlags): Promise<void> {
  const server = serverFrom(flags)
  const { items } = await server.get<{ readonly items: readonly Member[] }>(pathOf(flags))
  if (items.length === 0 && !flags.json)
    return remark(
      `There are no members.\ntry:   belfry member add --group NAME --role viewer${flags.installation ? ' --installation' : ''}\n`,
    )
  give(items, flags, () =>
    table(
      ['MEMBER', 'KIND', 'ROLE', 'ADDED', 'BY'],
      items.map((member) => [
        cut(printable(whoOf(member)), WHO_WIDTH),
        member.email === null ? 'group' : 'person',
        member.role,
        formatDistance(Date.parse(member.createdAt), server.now()),
        printable(member.createdBy ?? '–'),
      ]),
    ),
  )
}

export async function addMember(
  email: string | undefined,
  flags: ScopeFlags & { readonly group?: string; readonly role: string },
): Promise<void> {
  const { group, role } = flags
  if ((email === undefined) === (group === undefined))
    throw new CliError(
      'A member is either a person or a group.',
      'Give an email address or --group: belfry member add ada@example.com --role viewer',
      EXIT.usage,
    )
  const member = await namingAll('belfry member add --help', () =>
    serverFrom(flags).post<Member>(pathOf(flags), { email, group, role }),
  )
  const where = flags.installation ? 'every project' : 'the project'
  give(
    member,
    flags,
    () => `${c.green('✓')} ${printable(whoOf(member))} has the role ${member.role} in ${where}\n`,
  )
}

export async function removeMember(
  who: string,
  flags: ScopeFlags & { readonly yes?: boolean },
): Promise<void> {
  const server = serverFrom(flags)
  const { items } = await server.get<{ readonly items: readonly Member[] }>(pathOf(flags))
  const found = items.filter((one) => one.id === who || one.group === who || one.email === who.toLowerCase())
  const [member] = found
  if (!member || found.length > 1)
    throw new CliError(
      member
        ? `'${printable(who)}' is both a person and a group.`
        : `There is no member '${printable(who)}'.`,
      member
        ? `Give an id: ${found.map(({ id }) => id).join(' or ')}`
        : `To list members: belfry member list${flags.installation ? ' --installation' : ''}`,
      member ? EXIT.usage : EXIT.notFound,
    )
  await confirm(`Remove the member ${printable(whoOf(member))} (${member.role})?`, flags)
  await server.ask('DELETE', `${pathOf(flags)}/${member.id}`)
  give(member, flags, () => `${c.green('✓')} member ${printable(whoOf(member))} removed\n`)
}
