import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'

const HELP = `
Examples:
  belfry run list --state permanently_failed
  belfry run show 01a1e128-d49d-7000-92ca-b285fcbd8a00
  belfry run logs 01a1e128-d49d-7000-92ca-b285fcbd8a00 --follow
  belfry run retry 01a1e128-d49d-7000-92ca-b285fcbd8a00 --wait

To run a task now: belfry task run NAME
`

const LIST_HELP = `
Timestamps have the form 2026-11-16T09:00:00Z.

Examples:
  belfry run list --task hello
  belfry run list --state permanently_failed --from 2026-11-16T00:00:00Z
  belfry run list --state running --field id
`

/** Commands for runs. */
export function runCommand(program: Command): void {
  const group = program
    .command('run')
    .alias('runs')
    .usage('<command> [options]')
    .description('List, show, cancel and rerun runs, and read their logs')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  listCommand(group)
  addClientFlags(group.command('show').description('Show a run and its attempts'))
    .argument('<id>', 'Id of the run, or at least its first 8 characters')
    .action(async (id, flags) => (await import('../handlers/runs.ts')).showRun(id, flags))
  logsCommand(group)
  addClientFlags(group.command('cancel').description('Cancel a run that has not ended'))
    .argument('<id>', 'Id of the run, or at least its first 8 characters')
    .action(async (id, flags) => (await import('../handlers/runs.ts')).cancelRun(id, flags))
  addClientFlags(group.command('retry').description('Rerun a run that has ended, as a new run'))
    .argument('<id>', 'Id of the run, or at least its first 8 characters')
    .option('--wait', 'Wait until the new run ends; exits with 7 if it fails')
    .action(async (id, flags) => (await import('../handlers/runs.ts')).retryRun(id, flags))
}

const LOGS_HELP = `
Prints what programs and handlers wrote, attempt by attempt; with --json one object per line. After a
lost connection --follow reconnects and continues without gaps.

Examples:
  belfry run logs 01a1e128-d49d-7000-92ca-b285fcbd8a00
  belfry run logs 01a1e128 --follow --timestamps
  belfry run logs 01a1e128 --attempt 2 --search error
`

function logsCommand(group: Command): void {
  const command = group
    .command('logs')
    .alias('log')
    .description('Show or follow the log of a run')
    .argument('<id>', 'Id of the run, or at least its first 8 characters')
    .option('-f, --follow', 'Follow until the run ends; exits with 7 if it fails')
    .option('--attempt <n>', 'Only this attempt')
    .option('--since <duration>', 'Only lines of the last 5m or 1d, or since a timestamp')
    .option('--search <text>', 'Only lines that contain this text')
    .option('--timestamps', 'Print the time of each line')
  addClientFlags(command)
    .addHelpText('after', LOGS_HELP)
    .action(async (id, flags) => (await import('../handlers/run-logs.ts')).showLogs(id, flags))
}

function listCommand(group: Command): void {
  const command = group
    .command('list')
    .alias('ls')
    .description('List runs, latest first')
    .option('--task <task>', 'Only runs of this task: id, key or name')
    .option(
      '--state <state>',
      'pending, running, retrying, completed, permanently_failed, cancelled, skipped',
    )
    .option('--from <instant>', 'Only runs at or after this time')
    .option('--to <instant>', 'Only runs before this time')
    .option('--limit <n>', 'Maximum number of results', '50')
  addClientFlags(command)
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/list-runs.ts')).listRuns(flags))
}
