import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'
import { addScheduleFlags } from '../client/task-flags.ts'

const HELP = `
Examples:
  belfry schedule preview 'every weekday at 9:30'
  belfry schedule preview --cron '30 9 * * MON-FRI' --timezone Europe/Berlin
`

const PREVIEW_HELP = `
Nothing is stored. The first instant listed is after --from: an occurrence at exactly that instant is left out.
Notes tell of nights on which clocks change. The schedule of a task: belfry task show TASK.

Examples:
  belfry schedule preview 'every weekday at 9:30 (Europe/Berlin)'
  belfry schedule preview --daily 02:30 --timezone America/New_York --from 2027-03-13T00:00:00Z
  belfry schedule preview --cron 'H 3 * * *' --seed report --count 3 --field occurrences
`

/** Commands for schedules that no task has yet. */
export function scheduleCommand(program: Command): void {
  const group = program
    .command('schedule')
    .alias('schedules')
    .usage('<command> [options]')
    .description('Try a schedule out: preview when it fires')
    .helpOption('-h, --help', 'Show help; also after a command')
    .addHelpText('after', HELP)
  const preview = group
    .command('preview')
    .description('Show when a schedule fires, and what clock changes do to it')
    .argument('[words]', "The schedule in words, such as 'every weekday at 9:30'")
  addScheduleFlags(preview)
    .option('--start-at <instant>', 'Not before')
    .option('--end-at <instant>', 'Not after')
    .optionsGroup('Options:')
    .option('--from <instant>', 'List what comes after this instant (default: now)')
    .option('--count <n>', 'How many instants, up to 100 (default: 10)')
    .option('--jitter <time>', 'Put each off by up to so long, as a task with this jitter does')
    .option('--seed <text>', 'What H and jitter are drawn from: the key of the task')
  addClientFlags(preview)
    .addHelpText('after', PREVIEW_HELP)
    .action(async (words, flags) => (await import('../handlers/schedules.ts')).previewSchedule(words, flags))
}
