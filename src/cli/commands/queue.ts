import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'

const HELP = `
Due runs wait in a queue for a worker. A queue is created when a task first names it with --queue.

Examples:
  belfry queue list
  belfry queue pause reports
  belfry queue limit reports 5 --rate 10/s
`

const LIST_HELP = `
Examples:
  belfry queue list --search report
  belfry queue list --limit 1000 --field name
`

const SHOW_HELP = `
Examples:
  belfry queue show reports
  belfry queue show reports --field waiting
`

const RUNS_HELP = `
Runs that start first are listed first. To find out why one waits: belfry task why <task>

Examples:
  belfry queue runs reports
  belfry queue runs reports --limit 500 --field id
`

const PAUSE_HELP = `
Runs in progress continue. Runs that come due wait in the queue until you resume it; none of them
is skipped.

Examples:
  belfry queue pause reports
`

const RESUME_HELP = `
Examples:
  belfry queue resume reports
`

const LIMIT_HELP = `
The limit and the rate apply to all workers together. Runs in progress continue.

Examples:
  belfry queue limit reports 5
  belfry queue limit reports --rate 10/s --burst 20
  belfry queue limit reports none --rate none
`

const QUEUE = 'Name of the queue'

/** Commands for queues: where due runs wait for a worker. */
export function queueCommand(program: Command): void {
  const group = program
    .command('queue')
    .alias('queues')
    .usage('<command> [options]')
    .description('List, pause, resume and limit queues')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  const list = group
    .command('list')
    .alias('ls')
    .description('List queues and how many runs are waiting')
    .option('--search <text>', 'Only queues whose name contains this text')
    .option('--limit <n>', 'Maximum number of results', '50')
  addClientFlags(list)
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/queues.ts')).listQueues(flags))
  addClientFlags(group.command('show').description('Show a queue').argument('<queue>', QUEUE))
    .addHelpText('after', SHOW_HELP)
    .action(async (name, flags) => (await import('../handlers/queues.ts')).showQueue(name, flags))
  const runs = group
    .command('runs')
    .description('List the waiting runs of a queue')
    .argument('<queue>', QUEUE)
    .option('--limit <n>', 'Maximum number of results', '50')
  addClientFlags(runs)
    .addHelpText('after', RUNS_HELP)
    .action(async (name, flags) => (await import('../handlers/queues.ts')).listWaitingRuns(name, flags))
  addClientFlags(
    group
      .command('pause')
      .description('Pause a queue, so that none of its runs start')
      .argument('<queue>', QUEUE),
  )
    .addHelpText('after', PAUSE_HELP)
    .action(async (name, flags) => (await import('../handlers/queues.ts')).pauseQueue(name, flags))
  addClientFlags(group.command('resume').description('Resume a paused queue').argument('<queue>', QUEUE))
    .addHelpText('after', RESUME_HELP)
    .action(async (name, flags) => (await import('../handlers/queues.ts')).resumeQueue(name, flags))
  const limit = group
    .command('limit')
    .description('Limit how many runs of a queue are in progress, and how many start per second')
    .argument('<queue>', QUEUE)
    .argument('[n]', 'Maximum runs in progress, from 1 to 100000, or none')
    .option('--rate <rate>', 'Maximum start rate, such as 10/s, 100/m or 1000/h, or none')
    .option('--burst <n>', 'Maximum burst of starts, or none for the default')
  addClientFlags(limit)
    .addHelpText('after', LIMIT_HELP)
    .action(async (name, n, flags) => (await import('../handlers/queues.ts')).limitQueue(name, n, flags))
}
