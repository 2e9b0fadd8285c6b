import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'

const NODE_HELP = `
Nodes are the Belfry processes that share one database. Dead nodes are listed for a week.

Examples:
  belfry node list
  belfry node list --state dead --json
`

const WORKER_HELP = `
Workers perform runs: nodes with the role worker, and your own processes that provide handlers.

Examples:
  belfry worker list
  belfry worker list --state alive --field name
`

/** Commands for the processes that share the work. */
export function clusterCommands(program: Command): void {
  listCommand(program, 'node', 'List the Belfry processes that share the database', NODE_HELP)
  listCommand(program, 'worker', 'List the workers that perform runs', WORKER_HELP)
}

function listCommand(program: Command, noun: 'node' | 'worker', description: string, help: string): void {
  const group = program
    .command(noun)
    .alias(`${noun}s`)
    .usage('<command> [options]')
    .description(description)
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', help)
  const list = group
    .command('list')
    .alias('ls')
    .description(`List ${noun}s and their state`)
    .option('--state <state>', 'Only this state: alive, quiet or dead')
  addClientFlags(list)
    .addHelpText('after', help)
    .action(async (flags) => (await import('../handlers/cluster.ts')).listMembers(noun, flags))
}
