import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'

const NODE_HELP = `
Nodes are the Belfry processes that share one database. Dead nodes are listed for a week.

Examples:
  belfry node list
  belfry node list --state dead --json
`

/** Commands for nodes, the processes that share one database. */
export function nodeCommand(program: Command): void {
  const group = program
    .command('node')
    .alias('nodes')
    .usage('<command> [options]')
    .description('List the Belfry processes that share the database')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', NODE_HELP)
  const list = group
    .command('list')
    .alias('ls')
    .description('List nodes and their state')
    .option('--state <state>', 'Only this state: alive, quiet or dead')
  addClientFlags(list)
    .addHelpText('after', NODE_HELP)
    .action(async (flags) => (await import('../handlers/cluster.ts')).listMembers('node', flags))
}
