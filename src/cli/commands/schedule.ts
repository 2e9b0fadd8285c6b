import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'
import { addScheduleFlags } from '../client/task-flags.ts'

const HELP = `
Examples:
  belfry schedule preview 'every weekday at 9:30'
  belfry schedule preview --cron '30 9 * * MON-FRI' --timezone Europe/Berlin
`

const PREVIEW_HELP = `
Nothing is stored. An occurrence at exactly --from is not listed. Notes point out daylight saving
changes. To see the schedule of a task: belfry task show TASK

Examples:
  belfry schedule preview 'every weekday at 9:30 (Europe/Berlin)'
  belfry schedule preview --daily 02:30 --timezone America/New_York --from 2027-03-13T00:00:00Z
  belfry schedule preview --cron 'H 3 * * *' --seed report --count 3 --field occurrences
`

/** Commands for schedules that do not belong to a task yet. */
export function scheduleCommand(program: Command): void {
  const group = program
    .command('schedule')
    .alias('schedules')
    .usage('<command> [options]')
    .description('Preview when a schedule fires')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  const preview = group
    .command('preview')
    .description('Show when a schedule fires and how daylight saving changes affect it')
    .argument('[words]', "The schedule in words, such as 'every weekday at 9:30'")
  addScheduleFlags(preview)
    .option('--start-at <instant>', 'No occurrences before this time')
    .option('--end-at <instant>', 'No occurrences after this time')
    .optionsGroup('Options:')
    .option('--from <instant>', 'List occurrences after this time (default: now)')
    .option('--count <n>', 'Number of occurrences, up to 100 (default: 10)')
    .option('--jitter <time>', 'Maximum random delay (jitter)')
    .option('--seed <text>', 'Seed for H and jitter; a task uses its key')
  addClientFlags(preview)
    .addHelpText('after', PREVIEW_HELP)
    .action(async (words, flags) => (await import('../handlers/schedules.ts')).previewSchedule(words, flags))
}
