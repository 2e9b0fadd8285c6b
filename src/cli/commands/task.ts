import { type Command, Option } from 'commander'
import { ACTION_TYPES } from '../../core/action/action.ts'
import { addClientFlags, addYesFlag } from '../client/output.ts'
import { addTaskFlags, RARE_FLAGS } from '../client/task-flags.ts'

const TASK = 'Its id, the first 8 characters of it, its key, or its name where only one has it'

const HELP = `
Examples:
  belfry task create hello --every 10s --action sleep:1s
  belfry task list --state paused
  belfry task run hello --wait

belfry task create --help shows every flag. Durations are like 500ms, 30s, 5m, 1h30m, 2d.
`

const CREATE_DESCRIPTION = `Create a task

Examples:
  belfry task create hello --every 10s --action sleep:1s
  belfry task create morning --schedule 'every weekday at 9:30 (Europe/Berlin)' \\
    --action webhook:https://example.com/hook --body '{"report":"daily"}' --retries 5
  belfry task create notice --daily 17:00 --action slack:URL --text 'Time to go'
  belfry task create note --daily 08:00 --action email:ada@example.com --subject Hello --text Hi
  belfry task create --file task.json --paused`

const CREATE_HELP = `
${RARE_FLAGS}
`

const EDIT_HELP = `
${RARE_FLAGS}

Only what is named changes; an empty value, as in --owner '', takes a field away. Without --if-version the
change is made to the task as it is when it is read.

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
Nothing is undone: it makes a new version, which replaces what is not yet due.

Examples:
  belfry task rollback morning 2 --reason 'the new address was wrong'
`

const BACKFILL_HELP = `
Occurrences that have completed need no run. Runs of a backfill go behind everything that is on time. With
--wait it ends with 7 when not all of them complete.

Examples:
  belfry task backfill morning --from 2026-11-01T00:00:00Z --dry-run
  belfry task backfill morning --from 2026-11-01T00:00:00Z --to 2026-11-08T00:00:00Z --rate 10/s --wait
`

const PAUSE_HELP = `
Runs that have begun go on. What comes due meanwhile is recorded as skipped.

Examples:
  belfry task pause morning --until 2h --reason 'partner maintenance'
  belfry task pause morning --until 2026-11-20T18:00:00+01:00
`

const RESUME_HELP = `
Examples:
  belfry task resume morning --reason 'the partner is back'
`

const SKIP_HELP = `
They are recorded as skipped when their instants come. Asking again replaces what was asked before.

Examples:
  belfry task skip-next morning --reason 'a holiday'
  belfry task skip-next morning --count 3
  belfry task skip-next morning --undo
`

const RUN_HELP = `
A paused task runs too, and stays paused. With --wait it ends with 7 when the run does not complete.

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
    .description('Create tasks, list and change them, run them now')
    .helpOption('-h, --help', 'Show help; also after a command')
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
  endCommand(group, 'cancel', 'End a task for good; it stays in the list')
  endCommand(group, 'delete', 'End a task and hide it; its history stays').alias('rm')
}

function listCommand(group: Command): void {
  const command = group
    .command('list')
    .alias('ls')
    .description('List tasks, newest first')
    .option('--state <state>', 'scheduled, pending, running, paused, finished or cancelled')
    .option('--type <action>', ACTION_TYPES.join(', '))
    .option('--tag <tag>', 'Those with this tag')
    .option('--owner <who>', 'Those of this owner')
    .option('--search <text>', 'Those with this in their name or key')
    .option('--limit <n>', 'At most so many', '50')
  addClientFlags(command)
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/list-tasks.ts')).listTasks(flags))
}

function showCommand(group: Command): void {
  addClientFlags(group.command('show').description('Show a task: what, when, how it went'))
    .argument('<task>', TASK)
    .action(async (task, flags) => (await import('../handlers/show-task.ts')).showTask(task, flags))
}

function whyCommand(group: Command): void {
  const command = group
    .command('why')
    .description('Say why a task is not running, and what to do about it')
    .argument('<task>', TASK)
    .option('--at <instant>', 'At an instant that has passed, such as 2026-11-16T09:00:00Z')
  addClientFlags(command)
    .addHelpText('after', WHY_HELP)
    .action(async (task, flags) => (await import('../handlers/why-task.ts')).whyTask(task, flags))
}

function ledgerCommand(group: Command): void {
  const command = group
    .command('ledger')
    .description('Set what a task owed against what is recorded')
    .argument('<task>', TASK)
    .option('--since <duration>', 'From so long ago, such as 5m or 1d')
    .option('--from <instant>', 'From an instant (default: a day ago)')
    .option('--to <instant>', 'Up to an instant (default: now)')
    .option('--show <state>', 'Only what is missing, skipped, …; problems for all that is not in order')
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
  addTaskFlags(command).option('--paused', 'Do not fire before it is resumed')
  addClientFlags(command)
    .addHelpText('after', CREATE_HELP)
    .action(async (name, flags) => (await import('../handlers/create-task.ts')).createTask(name, flags))
}

function editCommand(group: Command): void {
  const command = group.command('edit').description('Change some of a task').argument('<task>', TASK)
  addTaskFlags(command)
    .addOption(new Option('--name <name>', 'Another name').helpGroup('Who and where:'))
    .option('--if-version <n>', 'Only if the task is still at this version')
  addClientFlags(command)
    .addHelpText('after', EDIT_HELP)
    .action(async (task, flags) => (await import('../handlers/edit-task.ts')).editTask(task, flags))
}

function pauseCommand(group: Command): void {
  const command = group
    .command('pause')
    .description('Stop firing until resumed, or until an instant')
    .argument('<task>', TASK)
    .option('--until <when>', 'Go on by itself: at an instant, or so long from now, such as 2h')
    .option('--reason <text>', 'Why, for those who wonder meanwhile')
  addClientFlags(command)
    .addHelpText('after', PAUSE_HELP)
    .action(async (task, flags) => (await import('../handlers/pause-task.ts')).pauseTask(task, flags))
}

function resumeCommand(group: Command): void {
  const command = group
    .command('resume')
    .description('Go on with the next occurrence')
    .argument('<task>', TASK)
    .option('--reason <text>', 'Why, kept with the pause that it ends')
  addClientFlags(command)
    .addHelpText('after', RESUME_HELP)
    .action(async (task, flags) => (await import('../handlers/pause-task.ts')).resumeTask(task, flags))
}

function skipCommand(group: Command): void {
  const command = group
    .command('skip-next')
    .description('Skip the next occurrence, or several')
    .argument('<task>', TASK)
    .option('--count <n>', 'How many (default: 1)')
    .option('--reason <text>', 'Why, for those who wonder meanwhile')
    .option('--undo', 'Let them run after all')
  addClientFlags(command)
    .addHelpText('after', SKIP_HELP)
    .action(async (task, flags) => (await import('../handlers/pause-task.ts')).skipNext(task, flags))
}

function runCommand(group: Command): void {
  const command = group
    .command('run')
    .alias('trigger')
    .description('Run a task now, whatever its schedule says')
    .argument('<task>', TASK)
    .option('--wait', 'Until the run has ended')
    .optionsGroup('Otherwise than the task says, for this run alone:')
    .option('--body <json>', 'Of webhook and http: JSON, else text; @FILE reads it, @- from a pipe')
    .option('--header <line>', "Of http, such as 'x-trace: 1'; may be repeated", collect)
    .option('--payload <json>', 'Of handler: JSON, else text; @FILE reads it')
    .option('--text <text>', 'Of slack and email')
    .option('--subject <text>', 'Of email')
    .option('--html <html>', 'Of email; @FILE reads it')
    .option('--duration <time>', 'Of sleep')
    .option('--queue <name>', 'Where it waits for a worker')
    .option('--priority <n>', 'The smaller number goes first')
    .option('--timeout <time>', 'Stop an attempt after')
    .option('--retries <n>', 'Retries after a failure')
    .option('--overlap <policy>', 'allow: beside whatever is active; skip: not while a run is active')
    .optionsGroup('Options:')
  addClientFlags(command)
    .addHelpText('after', RUN_HELP)
    .action(async (task, flags) => (await import('../handlers/run-task.ts')).runTask(task, flags))
}

function backfillCommand(group: Command): void {
  const command = group
    .command('backfill')
    .description('Run a task for occurrences of the past')
    .argument('<task>', TASK)
    .requiredOption('--from <instant>', 'Where the range begins')
    .option('--to <instant>', 'Where it ends, itself not included (default: now)')
    .option('--dry-run', 'Only say what it would do')
    .option('--rate <rate>', 'How many may begin, such as 10/s, 100/m or 1000/h')
    .option('--order <order>', 'oldest_first (default) or newest_first')
    .option('--overlap <policy>', 'queue_all or allow (default: as the task says)')
    .option('--max-runs <n>', 'Stop after so many')
    .option('--force', 'Also what has completed')
    .option('--reason <text>', 'Why, for those who look at it later')
    .option('--wait', 'Until it has ended')
  addClientFlags(command)
    .addHelpText('after', BACKFILL_HELP)
    .action(async (task, flags) => (await import('../handlers/backfill-task.ts')).backfillTask(task, flags))
}

function versionsCommand(group: Command): void {
  const command = group
    .command('versions')
    .description('Show what a task was, who changed it and why')
    .argument('<task>', TASK)
    .argument('[version]', 'Show all of this one')
    .option('--limit <n>', 'At most so many', '20')
  addClientFlags(command)
    .addHelpText('after', VERSIONS_HELP)
    .action(async (task, version, flags) =>
      (await import('../handlers/task-versions.ts')).taskVersions(task, version, flags),
    )
}

function diffCommand(group: Command): void {
  const command = group
    .command('diff')
    .description('Show what differs between two versions')
    .argument('<task>', TASK)
    .argument('<from>', 'The number of a version')
    .argument('[to]', 'Another (default: the one that holds now)')
  addClientFlags(command)
    .addHelpText('after', DIFF_HELP)
    .action(async (task, from, to, flags) =>
      (await import('../handlers/diff-task.ts')).diffTask(task, from, to, flags),
    )
}

function rollbackCommand(group: Command): void {
  const command = group
    .command('rollback')
    .description('Make an earlier version of a task hold again')
    .argument('<task>', TASK)
    .argument('<version>', 'Its number')
    .option('--reason <text>', 'Why, for those who read the versions later')
    .option('--if-version <n>', 'Only if the task is still at this version')
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
