import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'
import { addConfigFlags } from '../config-flags.ts'

const HELP = `
Programs authenticate with API keys. As soon as a key exists, all requests need one.

Examples:
  belfry key create --role admin
  belfry key create --role worker --project shop --name invoices
  belfry key list
`

const CREATE_HELP = `
The key is printed once and cannot be shown again.

Without --server and --api-key (or BELFRY_URL and BELFRY_KEY) the key is written to the database
of this machine's node, also while the node is running. This is how the first key is created.
Without --project the key is valid in every project.

Roles: viewer reads; operator also pauses, triggers, retries and cancels; editor also creates and
changes; admin also manages keys and settings; worker registers workers and nothing else.

Examples:
  belfry key create --role admin
  belfry key create --role editor --project shop --name deploy --field key
  belfry key create --role worker --project shop --queue invoices --network 10.0.0.0/8
  belfry key create --role viewer --expires-at 2027-01-01T00:00:00Z --server https://belfry.example.com
`

const several = (value: string, before: readonly string[] = []): string[] => [...before, value]

/** Commands for API keys. */
export function keyCommand(program: Command): void {
  const group = program
    .command('key')
    .alias('keys')
    .usage('<command> [options]')
    .description('Manage API keys')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  const create = group
    .command('create')
    .description('Create an API key and print it once')
    .requiredOption('--role <role>', 'viewer, operator, editor, admin or worker')
    .option('--name <name>', 'What the key is for (default: its role)')
    .option('--project <name>', 'Valid in this project only')
    .option('--expires-at <time>', 'When the key expires (default: never)')
    .option('--queue <name>', 'Valid for this queue only; can be repeated', several)
    .option('--network <network>', 'Valid from this network only; can be repeated', several)
  addClientFlags(addConfigFlags(create, ['dataDir', 'databaseUrl', 'databasePooling']))
    .addHelpText('after', CREATE_HELP)
    .action(async (flags) => (await import('../handlers/create-key.ts')).createKey(flags))
}
