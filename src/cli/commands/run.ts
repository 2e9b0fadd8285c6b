import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'

const HELP = `
Examples:
  belfry run list --state permanently_failed
  belfry run show 01a1e128-d49d-7000-92ca-b285fcbd8a00
  belfry run retry 01a1e128-d49d-7000-92ca-b285fcbd8a00 --wait

To run a task now: belfry task run NAME
`

const LIST_HELP = `
Instants are like 2026-11-16T09:00:00Z.

Examples:
  belfry run list --task hello
  belfry run list --state permanently_failed --from 2026-11-16T00:00:00Z
  belfry run list --state running --field id
`

/** Commands for runs: what became of tasks. */
export function runCommand(program: Command): void {
  const group = program
    .command('run')
    .alias('runs')
    .usage('<command> [options]')
    .description('List runs, look into one, cancel it, run it again')
    .helpOption('-h, --help', 'Show help; also after a command')
    .addHelpText('after', HELP)
  listCommand(group)
  addClientFlags(group.command('show').description('Show a run with its attempts'))
    .argument('<id>', 'The id of the run, or its first characters: 8 or more')
    .action(async (id, flags) => (await import('../handlers/runs.ts')).showRun(id, flags))
  addClientFlags(group.command('cancel').description('Stop a run that has not ended'))
    .argument('<id>', 'The id of the run, or its first characters: 8 or more')
    .action(async (id, flags) => (await import('../handlers/runs.ts')).cancelRun(id, flags))
  addClientFlags(group.command('retry').description('Run a run that has ended once more, as a new one'))
    .argument('<id>', 'The id of the run, or its first characters: 8 or more')
    .option('--wait', 'Until the new run has ended; ends with 7 when it does not complete')
    .action(async (id, flags) => (await import('../handlers/runs.ts')).retryRun(id, flags))
}

function listCommand(group: Command): void {
  const command = group
    .command('list')
    .alias('ls')
    .description('List runs, latest first')
    .option('--task <task>', 'Of one task: its id, its key, or its name')
    .option(
      '--state <state>',
      'pending, running, retrying, completed, permanently_failed, cancelled, skipped',
    )
    .option('--from <instant>', 'At this instant or later')
    .option('--to <instant>', 'Before this instant')
    .option('--limit <n>', 'At most so many', '50')
  addClientFlags(command)
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/list-runs.ts')).listRuns(flags))
}
