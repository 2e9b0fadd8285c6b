import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'

const HELP = `
A target is the server that calls go to, such as https://api.example.com, or smtp://mail.example.com:587.
Settings can also name a host (api.example.com) or all hosts below one ('*.example.com').

Examples:
  belfry target list
  belfry target show https://api.example.com
  belfry target pause https://api.example.com --reason maintenance
  belfry target limit '*.example.com' 20 --rate 10/s
`

const LIST_HELP = `
Targets that were called in the last 10 minutes, that runs are waiting for, or that have settings.

Examples:
  belfry target list --state circuit_open
  belfry target list --search example.com --json
`

const SHOW_HELP = `
Examples:
  belfry target show https://api.example.com
  belfry target show https://api.example.com --field waiting
`

const PAUSE_HELP = `
Calls in progress continue. Runs that come due wait until you resume the target; none of them is
skipped, and no attempt is used up.

Examples:
  belfry target pause https://api.example.com --reason 'migration until 14:00'
  belfry target pause '*.example.com'
`

const RESUME_HELP = `
Examples:
  belfry target resume https://api.example.com
`

const LIMIT_HELP = `
The limit applies to each node, the rate to all nodes together. Calls in progress continue.

Examples:
  belfry target limit https://api.example.com 20
  belfry target limit https://api.example.com --rate 10/s --burst 20
  belfry target limit https://api.example.com none --rate none
`

const TARGET = 'The target, or a pattern'

/** Commands for targets: the servers that calls go to. */
export function targetCommand(program: Command): void {
  const group = program
    .command('target')
    .alias('targets')
    .usage('<command> [options]')
    .description('List, pause, resume and limit the servers that calls go to')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  addList(group)
  addClientFlags(group.command('show').description('Show a target').argument('<target>', TARGET))
    .addHelpText('after', SHOW_HELP)
    .action(async (name, flags) => (await import('../handlers/targets.ts')).showTarget(name, flags))
  addClientFlags(
    group
      .command('pause')
      .description('Pause a target, so that no calls to it start')
      .argument('<target>', TARGET)
      .option('--reason <text>', 'Reason, shown with the target'),
  )
    .addHelpText('after', PAUSE_HELP)
    .action(async (name, flags) => (await import('../handlers/targets.ts')).pauseTarget(name, flags))
  addClientFlags(group.command('resume').description('Resume a paused target').argument('<target>', TARGET))
    .addHelpText('after', RESUME_HELP)
    .action(async (name, flags) => (await import('../handlers/targets.ts')).resumeTarget(name, flags))
  addLimit(group)
}

function addList(group: Command): void {
  const list = group
    .command('list')
    .alias('ls')
    .description('List targets, their calls and how many runs are waiting')
    .option('--search <text>', 'Only targets whose name contains this text')
    .option('--state <state>', 'Only this state: available, full, rate_limited, circuit_open or paused')
    .option('--limit <n>', 'Maximum number of results', '50')
  addClientFlags(list)
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/targets.ts')).listTargets(flags))
}

function addLimit(group: Command): void {
  const limit = group
    .command('limit')
    .description('Limit how many calls to a target are in progress, and how many start per second')
    .argument('<target>', TARGET)
    .argument('[n]', 'Maximum calls in progress per node, from 1 to 4096, or none for the default')
    .option('--rate <rate>', 'Maximum start rate, such as 10/s, 100/m or 1000/h, or none')
    .option('--burst <n>', 'Maximum burst of starts, or none for the default')
  addClientFlags(limit)
    .addHelpText('after', LIMIT_HELP)
    .action(async (name, n, flags) => (await import('../handlers/targets.ts')).limitTarget(name, n, flags))
}
