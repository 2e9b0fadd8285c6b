import { type Command, Option } from 'commander'
import { CONFIG_KEYS, type ConfigKey, SETTINGS } from '../../runtime/config/settings.ts'
import { addClientFlags } from '../client/output.ts'
import { addConfigFlags, settingNames } from '../config-flags.ts'

const OTHERS: ReadonlySet<ConfigKey> = new Set([
  'privateAddresses',
  'allowedPrivateNetworks',
  'shutdownGraceMs',
])
const isHidden = (key: ConfigKey) => SETTINGS[key].isCadence || SETTINGS[key].isForNetworks

/** Settings that remote workers share with nodes. */
const OWN_SETTINGS: readonly ConfigKey[] = CONFIG_KEYS.filter(
  (key) => (/^(exec|fileCache)/.test(key) && key !== 'execConcurrency') || OTHERS.has(key),
)

const HELP = `
${settingNames('Programs and networks (see docs/reference/configuration.md)', OWN_SETTINGS.filter(isHidden))}

A worker needs no database and opens no port. It runs programs and handlers, and makes calls for
tasks that require at least one of its labels. It has the labels os, arch and host.

Examples:
  belfry key create --name fleet --role worker
  BELFRY_KEY=… belfry worker --server https://belfry.example.com --label region=eu
  belfry worker --exec-commands '/usr/bin/rsync,/opt/backup/*' --handlers ./handlers.mjs
  belfry task create uptime --action exec:/usr/bin/uptime --label host=web-1 --every 1h
`

const LIST_HELP = `
Workers perform runs: nodes with the role worker, and remote workers, which connect over HTTP.

Examples:
  belfry worker list
  belfry worker list --state alive --field name
`

/** `belfry worker` starts a worker; with a subcommand it shows information about workers. */
export function workerCommand(program: Command): void {
  const worker = program
    .command('worker')
    .alias('workers')
    .usage('[options] | list [options]')
    .description('Run programs, calls and handlers on this machine, or list the workers')
    .enablePositionalOptions()
    .allowExcessArguments(false)
    .option('--server <url>', 'Addresses of the server (default: BELFRY_URL)')
    .option('--api-key <key>', 'API key (default: BELFRY_KEY, or the file BELFRY_KEY_FILE)')
    .addOption(new Option('--token <key>').hideHelp())
    .option('--label <label>', 'Label that tasks can require, such as region=eu; repeatable', collect)
    .option('--queue <name>', 'Only runs of this queue; repeatable', collect)
    .option('--concurrency <n>', 'Maximum number of concurrent runs (default: 10)')
    .option('--name <text>', 'Name in lists (default: host name and process id)')
    .option('--handlers <module>', 'Module whose exported functions are handlers')
    .option('--no-http', 'Do not make calls')
    .option('--ca-file <file>', "Certificate of the server's private authority (default: BELFRY_CA_FILE)")
    .option('--profile <name>', 'Profile of belfry login (default: BELFRY_PROFILE, else default)')
  addConfigFlags(worker, OWN_SETTINGS)
  worker
    .addHelpText('after', HELP)
    .action(async (flags) => (await import('../handlers/worker.ts')).startWorker(flags))
  const list = worker
    .command('list')
    .alias('ls')
    .description('List workers, their state, and what they can run')
    .option('--state <state>', 'Only this state: alive, quiet or dead')
  addClientFlags(list)
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/cluster.ts')).listMembers('worker', flags))
}

const collect = (value: string, before: readonly string[] = []) => [...before, value]
