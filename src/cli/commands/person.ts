import type { Command } from 'commander'
import { addClientFlags, addYesFlag } from '../client/output.ts'

const HELP = `
People appear here when they first sign in with a company account. Their roles come from members:
belfry member --help

Examples:
  belfry person list
  belfry person sign-out ada@example.com
`

const LIST_HELP = `
Examples:
  belfry person list
  belfry person list --json
`

const SIGN_OUT_HELP = `
Ends all sessions of the person within two seconds, for example when they have left the company.
Remove them at the identity provider first; otherwise they can sign in again.

Examples:
  belfry person sign-out ada@example.com
  belfry person sign-out 01a1e128-d49d-7000-92ca-b285fcbd8a00 --yes
`

/** Commands for people who have signed in. */
export function personCommand(program: Command): void {
  const group = program
    .command('person')
    .alias('people')
    .usage('<command> [options]')
    .description('List people who have signed in, and sign them out')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  addClientFlags(group.command('list').alias('ls').description('List people'))
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/people.ts')).listPeople(flags))
  const out = group
    .command('sign-out')
    .description('End all sessions of a person')
    .argument('<person>', 'Email address, or id')
  addClientFlags(addYesFlag(out))
    .addHelpText('after', SIGN_OUT_HELP)
    .action(async (who, flags) => (await import('../handlers/people.ts')).signOutPerson(who, flags))
}
