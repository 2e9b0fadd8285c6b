import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'

const NODE_HELP = `
Nodes are the Belfry processes on one database. The list has those that live, and the dead of the last week.

Examples:
  belfry node list
  belfry node list --state dead --json
`

const WORKER_HELP = `
Workers perform runs: nodes with the role worker, and processes of your own that offer handlers.

Examples:
  belfry worker list
  belfry worker list --state alive --field name
`

/** Commands for the processes that share the work. */
export function clusterCommands(program: Command): void {
  listCommand(program, 'node', 'Belfry processes on this database: list', NODE_HELP)
  listCommand(program, 'worker', 'Nodes and processes of yours that perform runs: list', WORKER_HELP)
}

function listCommand(program: Command, noun: 'node' | 'worker', description: string, help: string): void {
  const group = program
    .command(noun)
    .alias(`${noun}s`)
    .usage('<command> [options]')
    .description(description)
    .helpOption('-h, --help', 'Show help; also after a command')
    .addHelpText('after', help)
  const list = group
    .command('list')
    .alias('ls')
    .description(`List ${noun}s: what they do, and whether they live`)
    .option('--state <state>', 'alive, quiet or dead')
  addClientFlags(list)
    .addHelpText('after', help)
    .action(async (flags) => (await import('../handlers/cluster.ts')).listMembers(noun, flags))
}
