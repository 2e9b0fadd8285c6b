import type { Command } from 'commander'
import { addKeyLimitFlags } from '../client/limit-flags.ts'
import { addClientFlags, addYesFlag } from '../client/output.ts'
import { addConfigFlags } from '../config-flags.ts'

const HELP = `
Programs authenticate with API keys. As soon as a key exists, all requests need one.

Examples:
  belfry key create --role admin
  belfry key create --role worker --project shop --name invoices
  belfry key list
  belfry key revoke invoices
`

const CREATE_HELP = `
The key is printed once and cannot be shown again.

Without --server and --api-key (or BELFRY_URL and BELFRY_KEY) the command writes the key to the
database of this machine's node, which may be running. This is how the first key is created.
Without --project the key is valid in every project.

Roles: viewer reads; operator also pauses, triggers, reruns and cancels; editor also creates and
changes; admin also manages keys, members and settings; worker registers workers and nothing else.

Examples:
  belfry key create --role admin
  belfry key create --role editor --project shop --name deploy --field key
  belfry key create --role worker --project shop --queue invoices --network 10.0.0.0/8
  belfry key create --role viewer --expires-at 2027-01-01T00:00:00Z --server https://belfry.example.com
`

const LIST_HELP = `
Lists the keys of the project. Admins of the installation also see the keys of the installation.
The key itself is shown only when it is created.

Examples:
  belfry key list
  belfry key list --project shop --json
`

const SHOW_HELP = `
Examples:
  belfry key show deploy
  belfry key show 01a1e128-d4 --field lastUsedAt
`

const LIMIT_HELP = `
A key may be stricter than its project. An empty value removes a limit.

Examples:
  belfry key limit deploy --request-rate 10/s
  belfry key limit deploy --request-rate '' --max-payload-bytes 65536
`

const ROTATE_HELP = `
The new key has the same name, role and limits. The old one stays valid for the time in --overlap.

Examples:
  belfry key rotate deploy
  belfry key rotate deploy --overlap 7d --field key
`

const REVOKE_HELP = `
Within two seconds every node refuses the key, closes its streams and disconnects its workers.

Examples:
  belfry key revoke deploy
  belfry key revoke 01a1e128-d4 --yes
`

const KEY = 'Id of the key, at least its first 8 characters, or its name'

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
    .option('--expires-at <time>', 'When the key expires (default: never)')
    .option('--queue <name>', 'Valid for this queue only; repeatable', several)
    .option('--network <network>', 'Valid from this network only; repeatable', several)
  addClientFlags(addConfigFlags(addKeyLimitFlags(create), ['dataDir', 'databaseUrl', 'databasePooling']))
    .addHelpText('after', CREATE_HELP)
    .action(async (flags) => (await import('../handlers/create-key.ts')).createKey(flags))
  const list = group.command('list').alias('ls').description('List API keys')
  addClientFlags(list.option('--limit <n>', 'Maximum number of results', '100'))
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/keys.ts')).listKeys(flags))
  addClientFlags(group.command('show').description('Show an API key').argument('<key>', KEY))
    .addHelpText('after', SHOW_HELP)
    .action(async (ref, flags) => (await import('../handlers/keys.ts')).showKey(ref, flags))
  const limit = group.command('limit').description('Limit what an API key may use').argument('<key>', KEY)
  addClientFlags(addKeyLimitFlags(limit))
    .addHelpText('after', LIMIT_HELP)
    .action(async (ref, flags) => (await import('../handlers/keys.ts')).limitKey(ref, flags))
  const rotate = group
    .command('rotate')
    .description('Replace an API key, keeping the old one valid for a while')
    .argument('<key>', KEY)
    .option('--overlap <time>', 'Keep the old key valid for this long (default: 1d)')
    .option('--expires-at <time>', 'When the new key expires (default: same lifetime as the old key)')
  addClientFlags(rotate)
    .addHelpText('after', ROTATE_HELP)
    .action(async (ref, flags) => (await import('../handlers/keys.ts')).rotateKey(ref, flags))
  const revoke = group.command('revoke').alias('rm').description('Revoke an API key').argument('<key>', KEY)
  addClientFlags(addYesFlag(revoke))
    .addHelpText('after', REVOKE_HELP)
    .action(async (ref, flags) => (await import('../handlers/keys.ts')).revokeKey(ref, flags))
}
