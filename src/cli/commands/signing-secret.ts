import type { Command } from 'commander'
import { addClientFlags, addYesFlag } from '../client/output.ts'

const HELP = `
Receivers use a signing secret to verify that a request comes from Belfry. Two secrets can be in
use at once, and an origin can have its own.

Examples:
  belfry signing-secret create
  belfry signing-secret rotate --keep-old-for 7d
`

const LIST_HELP = `
The list shows ids and ages. The secret itself is shown only when it is created.

Examples:
  belfry signing-secret list
`

const CREATE_HELP = `
The secret is printed once and cannot be shown again. Requests of tasks are signed from now on.

Examples:
  belfry signing-secret create
  belfry signing-secret create --origin https://hooks.example.com
  belfry signing-secret create --field secret > belfry.secret
`

const ROTATE_HELP = `
Until the old secret expires, requests carry signatures of both. Give the new one to the receivers
in the meantime.

Examples:
  belfry signing-secret rotate
  belfry signing-secret rotate --keep-old-for 7d --field secret
`

const REVOKE_HELP = `
Receivers that know only this secret will reject requests from now on.

Examples:
  belfry signing-secret revoke 01a1e128-d49d-7000-92ca-b285fcbd8a00
  belfry signing-secret revoke 01a1e128-d4 --yes
`

/** Commands for signing secrets, with which receivers verify requests. */
export function signingSecretCommand(program: Command): void {
  const group = program
    .command('signing-secret')
    .alias('signing-secrets')
    .usage('<command> [options]')
    .description('Manage the secrets that sign outgoing requests')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  addClientFlags(forOrigin(group.command('list').alias('ls').description('List the secrets in use')))
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/signing-secrets.ts')).listSigningSecrets(flags))
  addClientFlags(forOrigin(group.command('create').description('Create a secret and print it once')))
    .addHelpText('after', CREATE_HELP)
    .action(async (flags) => (await import('../handlers/signing-secrets.ts')).createSigningSecret(flags))
  const rotate = group
    .command('rotate')
    .description('Create a new secret and let the old one expire')
    .option('--keep-old-for <time>', 'Keep signing with the old secret for this long (default: 1d)')
  addClientFlags(forOrigin(rotate))
    .addHelpText('after', ROTATE_HELP)
    .action(async (flags) => (await import('../handlers/signing-secrets.ts')).rotateSigningSecret(flags))
  const revoke = group.command('revoke').alias('rm').description('Stop using a secret immediately')
  addClientFlags(addYesFlag(revoke.argument('<id>', 'Id of the secret, or at least its first 8 characters')))
    .addHelpText('after', REVOKE_HELP)
    .action(async (id, flags) =>
      (await import('../handlers/signing-secrets.ts')).revokeSigningSecret(id, flags),
    )
}

const forOrigin = (command: Command) =>
  command.option('--origin <origin>', 'Only for requests to this origin, such as https://hooks.example.com')
