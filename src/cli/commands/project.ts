import type { Command } from 'commander'
import { addProjectLimitFlags } from '../client/limit-flags.ts'
import { addClientFlags, addYesFlag } from '../client/output.ts'
import { addRetentionFlags } from '../client/retention-flags.ts'

const HELP = `
Tasks, runs, queues, workers, subscriptions and keys belong to a project. The project default exists
from the start.

Examples:
  belfry project create shop
  belfry project list
  belfry project edit shop --min-period 1m --max-ahead 365d
`

const CREATE_HELP = `
Examples:
  belfry project create shop
  belfry project create shop --min-period 1m --mail-from 'Shop <shop@example.com>'
`

const LIST_HELP = `
Examples:
  belfry project list
  belfry project list --archived
`

const SHOW_HELP = `
Without a name, the project that other commands use: --project, BELFRY_PROJECT, or the project of
the API key.

Examples:
  belfry project show
  belfry project show shop --field limits.minPeriod
`

const EDIT_HELP = `
Limits and retention are set by admins of the installation. Limits apply to what is created, changed
or requested from now on; existing tasks are not affected. An empty value removes a setting.

Examples:
  belfry project edit shop --request-rate 100/s --max-tasks 10000
  belfry project edit shop --max-ahead '' --mail-from shop@example.com
  belfry project edit shop --keep-history 90d --keep-audit-log 730d
`

const ARCHIVE_HELP = `
The project becomes read-only. Its tasks are paused, and runs that wait or are in progress are
cancelled.

Examples:
  belfry project archive shop
  belfry project archive shop --yes
`

const RESTORE_HELP = `
Tasks that were paused when the project was archived resume.

Examples:
  belfry project restore shop
`

const NAME = 'Name of the project'

/** Commands for projects. */
export function projectCommand(program: Command): void {
  const group = program
    .command('project')
    .alias('projects')
    .usage('<command> [options]')
    .description('Manage projects and their limits')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  const handlers = () => import('../handlers/project.ts')
  const create = group.command('create').description('Create a project').argument('<name>', NAME)
  addClientFlags(withSettings(create))
    .addHelpText('after', CREATE_HELP)
    .action(async (name, flags) => (await handlers()).createProject(name, flags))
  const list = group
    .command('list')
    .alias('ls')
    .description('List projects')
    .option('--search <text>', 'Only projects whose name contains this text')
    .option('--archived', 'List archived projects')
    .option('--limit <n>', 'Maximum number of results', '100')
  addClientFlags(list)
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await handlers()).listProjects(flags))
  addClientFlags(group.command('show').description('Show a project').argument('[name]', NAME))
    .addHelpText('after', SHOW_HELP)
    .action(async (name, flags) => (await handlers()).showProject(name, flags))
  const edit = group
    .command('edit')
    .alias('limit')
    .description('Set the limits, retention, mail settings and networks of a project')
    .argument('[name]', NAME)
  addClientFlags(withSettings(edit))
    .addHelpText('after', EDIT_HELP)
    .action(async (name, flags) => (await handlers()).editProject(name, flags))
  const archive = group.command('archive').description('Archive a project').argument('<name>', NAME)
  addClientFlags(addYesFlag(archive))
    .addHelpText('after', ARCHIVE_HELP)
    .action(async (name, flags) => (await handlers()).archiveProject(name, flags))
  const restore = group.command('restore').description('Restore an archived project').argument('<name>', NAME)
  addClientFlags(restore)
    .addHelpText('after', RESTORE_HELP)
    .action(async (name, flags) => (await handlers()).restoreProject(name, flags))
}

const withSettings = (command: Command) =>
  addRetentionFlags(addProjectLimitFlags(command))
    .option('--mail-from <address>', 'Sender of emails')
    .option('--mail-reply-to <address>', 'Reply-to address of emails')
    .option('--mail-server <url>', 'Mail server, such as smtp://shop:{{secret.SMTP_PASSWORD}}@host:587')
    .option('--private-networks <list>', 'Private networks that calls can reach: a list, none, or all')
