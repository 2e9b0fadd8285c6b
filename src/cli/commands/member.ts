import { type Command, Option } from 'commander'
import { addClientFlags, addYesFlag } from '../client/output.ts'

const HELP = `
Members are people and groups of your identity provider who have a role. Roles: viewer reads;
operator also pauses, triggers, reruns and cancels; editor also creates and changes; admin also
manages keys, members and settings. With --installation a role counts in every project.

Examples:
  belfry member add --group platform --role admin --installation
  belfry member add ada@example.com --role editor
  belfry member list
`

const LIST_HELP = `
Examples:
  belfry member list
  belfry member list --installation
`

const ADD_HELP = `
If the member exists, its role is changed. Groups are read from the provider at each
sign-in.

Examples:
  belfry member add ada@example.com --role editor
  belfry member add --group platform --role operator
`

const REMOVE_HELP = `
People who are signed in lose the role within two seconds.

Examples:
  belfry member remove ada@example.com
  belfry member remove platform --yes
`

/** Commands for members: the roles of people and groups that sign in. */
export function memberCommand(program: Command): void {
  const group = program
    .command('member')
    .alias('members')
    .usage('<command> [options]')
    .description('Manage who can sign in and what they can do')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  addClientFlags(ofInstallation(group.command('list').alias('ls').description('List members')))
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/members.ts')).listMembers(flags))
  const add = group
    .command('add')
    .description('Give a person or a group a role')
    .argument('[email]', 'Verified email address of a person')
    .option('--group <name>', 'Group at the identity provider, instead of a person')
    .addOption(new Option('--role <role>', 'viewer, operator, editor or admin').makeOptionMandatory())
  addClientFlags(ofInstallation(add))
    .addHelpText('after', ADD_HELP)
    .action(async (email, flags) => (await import('../handlers/members.ts')).addMember(email, flags))
  const remove = group
    .command('remove')
    .alias('rm')
    .description('Remove the role of a person or a group')
    .argument('<member>', 'Email address, group, or id')
  addClientFlags(addYesFlag(ofInstallation(remove)))
    .addHelpText('after', REMOVE_HELP)
    .action(async (who, flags) => (await import('../handlers/members.ts')).removeMember(who, flags))
}

const ofInstallation = (command: Command) =>
  command.option('--installation', 'Members with a role in every project')
