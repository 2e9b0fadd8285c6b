import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'

const HELP = `
The audit log records every change: who made it, from where, and why. Every command that changes
something accepts --reason, or takes the reason from BELFRY_REASON.

Examples:
  belfry audit-log list --since 1d
  belfry audit-log list --action task.delete
  belfry audit-log show 01a1ed17-c660-7a3f-af8e-dce59a0d75be
`

const LIST_HELP = `
Needs the role admin. Without --scope the command lists changes in the project; installation
lists changes that belong to no project, and all lists everything.

Examples:
  belfry audit-log list --since 2h
  belfry audit-log list --task morning
  belfry audit-log list --action key.create --scope all --json
  belfry audit-log list --follow --actor 10.1.2.3
`

const SHOW_HELP = `
Shows what changed, field by field.

Examples:
  belfry audit-log show 01a1ed17-c660-7a3f-af8e-dce59a0d75be
  belfry audit-log show 01a1ed17-c660-7a3f-af8e-dce59a0d75be --field reason
`

/** Commands for the audit log: who changed what. */
export function auditLogCommand(program: Command): void {
  const group = program
    .command('audit-log')
    .usage('<command> [options]')
    .description('List changes and who made them')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  const list = scoped(group.command('list').alias('ls').description('List changes, latest first'))
    .option('--task <task>', 'Only changes of this task: id, key or name')
    .option('--subject <id>', 'Only changes of the run, queue, key … with this id')
    .option('--subject-kind <kind>', 'Only changes of this kind of thing, such as task, queue or key')
    .option('--action <action>', 'Only this kind of change, such as task.edit')
    .option('--actor <id>', 'Only changes by the key, person or address with this id')
    .option('--since <duration>', 'Only changes within this time, such as 1h or 2d')
    .option('--from <instant>', 'Only changes at or after this time')
    .option('--to <instant>', 'Only changes before this time')
    .option('--limit <n>', 'Maximum number of results', '50')
    .option('-f, --follow', 'Print changes as they are made, from now on or from --since')
  addClientFlags(list)
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => {
      const { followAuditLog, listAuditLog } = await import('../handlers/audit-log.ts')
      await (flags.follow ? followAuditLog(flags) : listAuditLog(flags))
    })
  const show = scoped(group.command('show <id>').description('Show a change, field by field'))
  addClientFlags(show)
    .addHelpText('after', SHOW_HELP)
    .action(async (id, flags) => (await import('../handlers/audit-log.ts')).showAuditEntry(id, flags))
}

const scoped = (command: Command) =>
  command.option('--scope <scope>', 'project (default), installation or all')
