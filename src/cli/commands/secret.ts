import type { Command } from 'commander'
import { addClientFlags, addYesFlag } from '../client/output.ts'

const HELP = `
A task refers to a secret as {{secret.NAME}} in its URL, headers, body, Slack message, email or
payload. Values are stored encrypted, and no command shows them.

Examples:
  belfry secret set API_TOKEN
  belfry task create sync --every 1h --action http:https://api.example.com/sync \\
    --header 'Authorization: Bearer {{secret.API_TOKEN}}'
`

const SET_HELP = `
The value is read from standard input, from a file, or from a prompt that does not show it. It is
never an argument, because other users of the machine can read arguments. A line break at its end
is removed.

Examples:
  belfry secret set API_TOKEN
  belfry secret set API_TOKEN < token.txt
  belfry secret set TLS_KEY --file key.pem
`

const LIST_HELP = `
Examples:
  belfry secret list
  belfry secret list --json
`

const SHOW_HELP = `
Shows the version of a secret and the tasks that use it. No command shows the value.

Examples:
  belfry secret show API_TOKEN
`

const DELETE_HELP = `
A secret that tasks use is deleted only with --force. The runs of those tasks then fail.

Examples:
  belfry secret delete API_TOKEN
  belfry secret delete API_TOKEN --force --yes
`

const ROTATE_HELP = `
Encrypts all secrets with the first key of the server. Every node must already have this key: first
add it to BELFRY_SECRETS_KEY or --secrets-key-file on all nodes, then make it the first key.

Examples:
  belfry secret make-key >> secrets.key
  belfry secret rotate-key
`

const LIST_KEYS_HELP = `
Shows the fingerprint of each key, how many values are encrypted with it, and which nodes have it.
Nodes encrypt new values with their first key. Before rotate-key, every node must have the new key.

Examples:
  belfry secret list-keys
  belfry secret list-keys --json
`

const MAKE_KEY_HELP = `
Prints a new random key for BELFRY_SECRETS_KEY or --secrets-key-file. Nothing is changed.

Examples:
  belfry secret make-key
`

/** Commands for secrets that tasks refer to. */
export function secretCommand(program: Command): void {
  const group = program
    .command('secret')
    .alias('secrets')
    .usage('<command> [options]')
    .description('Manage the secrets that tasks use')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  const set = group
    .command('set')
    .argument('<name>', 'Name of the secret, such as API_TOKEN')
    .description('Create a secret, or set a new value')
    .option('--file <file>', 'Read the value from this file')
  addClientFlags(set)
    .addHelpText('after', SET_HELP)
    .action(async (name, flags) => (await import('../handlers/secrets.ts')).setSecret(name, flags))
  addClientFlags(group.command('list').alias('ls').description('List secrets, without their values'))
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/secrets.ts')).listSecrets(flags))
  const show = group.command('show').argument('<name>', 'Name of the secret')
  addClientFlags(show.description('Show a secret and the tasks that use it'))
    .addHelpText('after', SHOW_HELP)
    .action(async (name, flags) => (await import('../handlers/secrets.ts')).showSecret(name, flags))
  const remove = group
    .command('delete')
    .alias('rm')
    .argument('<name>', 'Name of the secret')
    .description('Delete a secret and all its values')
    .option('--force', 'Delete it even if tasks use it')
  addClientFlags(addYesFlag(remove))
    .addHelpText('after', DELETE_HELP)
    .action(async (name, flags) => (await import('../handlers/secrets.ts')).deleteSecret(name, flags))
  addClientFlags(
    group.command('list-keys').description('List the keys that encrypt secrets, and which nodes have them'),
  )
    .addHelpText('after', LIST_KEYS_HELP)
    .action(async (flags) => (await import('../handlers/encryption-keys.ts')).listKeys(flags))
  addClientFlags(
    group.command('rotate-key').description('Encrypt all secrets with the first key of the nodes'),
  )
    .addHelpText('after', ROTATE_HELP)
    .action(async (flags) => (await import('../handlers/encryption-keys.ts')).rotateKey(flags))
  group
    .command('make-key')
    .description('Print a new key to encrypt secrets with')
    .helpOption('-h, --help', 'Show this help')
    .addHelpText('after', MAKE_KEY_HELP)
    .action(async () => (await import('../handlers/encryption-keys.ts')).makeKey())
}
