import { type Command, Option } from 'commander'
import { ACTION_TYPES } from '../../core/action/action.ts'
import { addClientFlags, addYesFlag } from '../client/output.ts'
import { addTaskFlags, RARE_FLAGS } from '../client/task-flags.ts'

const TASK = 'Id (or at least its first 8 characters), key, or unique name'

const HELP = `
Examples:
  belfry task create hello --every 10s --action sleep:1s
  belfry task list --state paused
  belfry task run hello --wait

For all flags: belfry task create --help. Durations have the form 500ms, 30s, 5m, 1h30m or 2d.
`

const CREATE_DESCRIPTION = `Create a task

Examples:
  belfry task create hello --every 10s --action sleep:1s
  belfry task create morning --schedule 'every weekday at 9:30 (Europe/Berlin)' \\
    --action webhook:https://example.com/hook --body '{"report":"daily"}' --retries 5
  belfry task create notice --daily 17:00 --action slack:URL --text 'Time to go'
  belfry task create note --daily 08:00 --action email:ada@example.com --subject Hello --text Hi
  belfry task create backup --daily 03:00 --action exec:/usr/bin/rsync --arg -a --arg /data --arg /backup
  belfry task create --file task.json --paused`

const CREATE_HELP = `
${RARE_FLAGS}
`

const EDIT_HELP = `
${RARE_FLAGS}

Only the given fields change; an empty value, as in --owner '', removes a field. Without
--if-version the change applies to the current version.

Examples:
  belfry task edit morning --method GET
  belfry task edit morning --daily 08:00 --timezone Europe/Berlin --retries 5
`

const LIST_HELP = `
Examples:
  belfry task list --state paused
  belfry task list --tag nightly --json
  belfry task list --search report --field id
`

const WHY_HELP = `
Examples:
  belfry task why morning
  belfry task why morning --at 2026-11-16T08:30:00Z
  belfry task why morning --field code
`

const LEDGER_HELP = `
Examples:
  belfry task ledger hello --since 5m
  belfry task ledger morning --since 30d --show problems
  belfry task ledger morning --field isInOrder
`

const VERSIONS_HELP = `
Examples:
  belfry task versions morning
  belfry task versions morning 2 --field definition.schedule
`

const DIFF_HELP = `
Examples:
  belfry task diff morning 1
  belfry task diff morning 1 3 --field field
`

const ROLLBACK_HELP = `
Creates a new version with the definition of the earlier one. It applies to occurrences that are
not yet due.

Examples:
  belfry task rollback morning 2 --reason 'the new address was wrong'
`

const BACKFILL_HELP = `
Occurrences that have completed are not run again unless --force is given. Backfill runs have a
lower priority than scheduled runs. With --wait, exits with 7 if any run fails.

Examples:
  belfry task backfill morning --from 2026-11-01T00:00:00Z --dry-run
  belfry task backfill morning --from 2026-11-01T00:00:00Z --to 2026-11-08T00:00:00Z --rate 10/s --wait
`

const PAUSE_HELP = `
Runs in progress continue. Occurrences that come due during the pause are recorded as skipped.

Examples:
  belfry task pause morning --until 2h --reason 'partner maintenance'
  belfry task pause morning --until 'next friday at 18:00'
  belfry task pause morning --until 2026-11-20T18:00:00+01:00
`

const RESUME_HELP = `
Examples:
  belfry task resume morning --reason 'the partner is back'
`

const SKIP_HELP = `
Each occurrence is recorded as skipped when it comes due. A new request replaces the previous one.

Examples:
  belfry task skip-next morning --reason 'a holiday'
  belfry task skip-next morning --count 3
  belfry task skip-next morning --undo
`

const RUN_HELP = `
A paused task runs too and stays paused. With --wait, exits with 7 if the run fails.

Examples:
  belfry task run hello --wait
  belfry task run morning --body '{"report":"weekly"}' --timeout 5m --wait
  belfry task run hello --field id
`

/** Commands for tasks: a noun, and a verb for each thing that can be done with one. */
export function taskCommand(program: Command): void {
  const group = program
    .command('task')
    .alias('tasks')
    .usage('<command> [options]')
    .description('Create, list, change and run tasks')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  listCommand(group)
  showCommand(group)
  whyCommand(group)
  ledgerCommand(group)
  createCommand(group)
  editCommand(group)
  pauseCommand(group)
  resumeCommand(group)
  skipCommand(group)
  runCommand(group)
  backfillCommand(group)
  versionsCommand(group)
  diffCommand(group)
  rollbackCommand(group)
  endCommand(group, 'cancel', 'Cancel a task permanently; it stays in the list')
  endCommand(group, 'delete', 'Cancel a task and hide it; its history is kept').alias('rm')
}

function listCommand(group: Command): void {
  const command = group
    .command('list')
    .alias('ls')
    .description('List tasks, newest first')
    .option('--state <state>', 'Only this state: scheduled, pending, running, paused, finished or cancelled')
    .option('--type <action>', `Only this type of action: ${ACTION_TYPES.join(', ')}`)
    .option('--tag <tag>', 'Only tasks with this tag')
    .option('--owner <who>', 'Only tasks of this owner')
    .option('--search <text>', 'Only tasks whose name or key contains this text')
    .option('--limit <n>', 'Maximum number of results', '50')
  addClientFlags(command)
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/list-tasks.ts')).listTasks(flags))
}

function showCommand(group: Command): void {
  addClientFlags(group.command('show').description('Show a task, its schedule and its latest run'))
    .argument('<task>', TASK)
    .action(async (task, flags) => (await import('../handlers/show-task.ts')).showTask(task, flags))
}

function whyCommand(group: Command): void {
  const command = group
    .command('why')
    .description('Explain why a task is not running and what to do about it')
    .argument('<task>', TASK)
    .option('--at <instant>', 'Explain a past moment, such as 2026-11-16T09:00:00Z')
  addClientFlags(command)
    .addHelpText('after', WHY_HELP)
    .action(async (task, flags) => (await import('../handlers/why-task.ts')).whyTask(task, flags))
}

function ledgerCommand(group: Command): void {
  const command = group
    .command('ledger')
    .description('Compare the occurrences of a schedule with the recorded runs')
    .argument('<task>', TASK)
    .option('--since <duration>', 'Start this long ago, such as 5m or 1d')
    .option('--from <instant>', 'Start at this time (default: a day ago)')
    .option('--to <instant>', 'End at this time (default: now)')
    .option('--show <state>', 'Only this state, such as missing or skipped; problems for all irregularities')
  addClientFlags(command)
    .addHelpText('after', LEDGER_HELP)
    .action(async (task, flags) => (await import('../handlers/ledger-task.ts')).ledgerTask(task, flags))
}

function createCommand(group: Command): void {
  const command = group
    .command('create')
    .summary('Create a task')
    .description(CREATE_DESCRIPTION)
    .argument('[name]')
  addTaskFlags(command).option('--paused', 'Create the task paused')
  addClientFlags(command)
    .addHelpText('after', CREATE_HELP)
    .action(async (name, flags) => (await import('../handlers/create-task.ts')).createTask(name, flags))
}

function editCommand(group: Command): void {
  const command = group.command('edit').description('Change fields of a task').argument('<task>', TASK)
  addTaskFlags(command)
    .addOption(new Option('--name <name>', 'New name').helpGroup('Identity and placement:'))
    .option('--if-version <n>', 'Fail unless the task is at this version')
  addClientFlags(command)
    .addHelpText('after', EDIT_HELP)
    .action(async (task, flags) => (await import('../handlers/edit-task.ts')).editTask(task, flags))
}

function pauseCommand(group: Command): void {
  const command = group
    .command('pause')
    .description('Pause a task until it is resumed, or until a given time')
    .argument('<task>', TASK)
    .option(
      '--until <when>',
      'Resume at this time, such as "tomorrow at 9:00", or after a duration such as 2h',
    )
    .option('--reason <text>', 'Reason, shown with the task')
  addClientFlags(command)
    .addHelpText('after', PAUSE_HELP)
    .action(async (task, flags) => (await import('../handlers/pause-task.ts')).pauseTask(task, flags))
}

function resumeCommand(group: Command): void {
  const command = group
    .command('resume')
    .description('Resume a paused task at its next occurrence')
    .argument('<task>', TASK)
    .option('--reason <text>', 'Reason, recorded with the pause')
  addClientFlags(command)
    .addHelpText('after', RESUME_HELP)
    .action(async (task, flags) => (await import('../handlers/pause-task.ts')).resumeTask(task, flags))
}

function skipCommand(group: Command): void {
  const command = group
    .command('skip-next')
    .description('Skip the next occurrences of a task')
    .argument('<task>', TASK)
    .option('--count <n>', 'Number of occurrences (default: 1)')
    .option('--reason <text>', 'Reason, shown with the task')
    .option('--undo', 'Cancel an earlier request to skip')
  addClientFlags(command)
    .addHelpText('after', SKIP_HELP)
    .action(async (task, flags) => (await import('../handlers/pause-task.ts')).skipNext(task, flags))
}

function runCommand(group: Command): void {
  const command = group
    .command('run')
    .alias('trigger')
    .description('Run a task now, independently of its schedule')
    .argument('<task>', TASK)
    .option('--wait', 'Wait until the run ends')
    .optionsGroup('Overrides for this run:')
    .option('--body <json>', 'Body of webhook and http: JSON or text; @FILE reads a file, @- stdin')
    .option('--header <line>', "Header of http, such as 'x-trace: 1'; repeatable", collect)
    .option('--payload <json>', 'Payload of handler: JSON or text; @FILE reads a file')
    .option('--stdin <json>', 'Standard input of exec: JSON or text; @FILE reads a file')
    .option('--text <text>', 'Text of slack and email')
    .option('--subject <text>', 'Subject of email')
    .option('--html <html>', 'HTML of email; @FILE reads a file')
    .option('--duration <time>', 'Duration of sleep')
    .option('--queue <name>', 'Queue to wait in')
    .option('--priority <n>', 'Priority; lower numbers run first')
    .option('--timeout <time>', 'Timeout of each attempt')
    .option('--retries <n>', 'Maximum number of retries')
    .option(
      '--overlap <policy>',
      'allow: run in parallel with active runs; skip: do not run while a run is active',
    )
    .optionsGroup('Options:')
  addClientFlags(command)
    .addHelpText('after', RUN_HELP)
    .action(async (task, flags) => (await import('../handlers/run-task.ts')).runTask(task, flags))
}

function backfillCommand(group: Command): void {
  const command = group
    .command('backfill')
    .description('Run a task for past occurrences')
    .argument('<task>', TASK)
    .requiredOption('--from <instant>', 'Start of the range, inclusive')
    .option('--to <instant>', 'End of the range, exclusive (default: now)')
    .option('--dry-run', 'Only show what would run')
    .option('--rate <rate>', 'Maximum start rate, such as 10/s, 100/m or 1000/h')
    .option('--order <order>', 'oldest_first (default) or newest_first')
    .option('--overlap <policy>', 'allow or queue_all (default: queue_all unless the task allows overlap)')
    .option('--max-runs <n>', 'Maximum number of runs')
    .option('--force', 'Also run occurrences that have completed')
    .option('--reason <text>', 'Reason, recorded with the backfill')
    .option('--wait', 'Wait until the backfill ends')
  addClientFlags(command)
    .addHelpText('after', BACKFILL_HELP)
    .action(async (task, flags) => (await import('../handlers/backfill-task.ts')).backfillTask(task, flags))
}

function versionsCommand(group: Command): void {
  const command = group
    .command('versions')
    .description('List the versions of a task: what changed, by whom and why')
    .argument('<task>', TASK)
    .argument('[version]', 'Show this version in full')
    .option('--limit <n>', 'Maximum number of results', '20')
  addClientFlags(command)
    .addHelpText('after', VERSIONS_HELP)
    .action(async (task, version, flags) =>
      (await import('../handlers/task-versions.ts')).taskVersions(task, version, flags),
    )
}

function diffCommand(group: Command): void {
  const command = group
    .command('diff')
    .description('Show the differences between two versions')
    .argument('<task>', TASK)
    .argument('<from>', 'Number of a version')
    .argument('[to]', 'Number of another version (default: the current one)')
  addClientFlags(command)
    .addHelpText('after', DIFF_HELP)
    .action(async (task, from, to, flags) =>
      (await import('../handlers/diff-task.ts')).diffTask(task, from, to, flags),
    )
}

function rollbackCommand(group: Command): void {
  const command = group
    .command('rollback')
    .description('Restore an earlier version of a task')
    .argument('<task>', TASK)
    .argument('<version>', 'Number of the version')
    .option('--reason <text>', 'Reason, recorded with the new version')
    .option('--if-version <n>', 'Fail unless the task is at this version')
  addClientFlags(command)
    .addHelpText('after', ROLLBACK_HELP)
    .action(async (task, version, flags) =>
      (await import('../handlers/task-versions.ts')).rollbackTask(task, version, flags),
    )
}

function endCommand(group: Command, verb: 'cancel' | 'delete', description: string): Command {
  const command = group.command(verb).description(description).argument('<task>', TASK)
  return addClientFlags(addYesFlag(command)).action(async (task, flags) =>
    (await import('../handlers/end-task.ts')).endTask(verb, task, flags),
  )
}

const collect = (value: string, before: readonly string[] = []) => [...before, value]
