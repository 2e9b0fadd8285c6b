import type { Command } from 'commander'
import { addClientFlags, addYesFlag } from '../client/output.ts'

const HELP = `
Receivers verify with a signing secret that a request comes from Belfry. Two may be in use at once, and an
origin may have secrets of its own.

Examples:
  belfry signing-secret create
  belfry signing-secret rotate --keep-old-for 7d
`

const LIST_HELP = `
A secret itself is shown only when it is made; the list has its id and its age.

Examples:
  belfry signing-secret list
`

const CREATE_HELP = `
The secret is printed once and cannot be read again. Requests of tasks are signed from then on.

Examples:
  belfry signing-secret create
  belfry signing-secret create --origin https://hooks.example.com
  belfry signing-secret create --field secret > belfry.secret
`

const ROTATE_HELP = `
Requests carry signatures of both secrets until the old one expires: give receivers the new one meanwhile.

Examples:
  belfry signing-secret rotate
  belfry signing-secret rotate --keep-old-for 7d --field secret
`

const REVOKE_HELP = `
Receivers that know only this secret refuse requests from then on.

Examples:
  belfry signing-secret revoke 01a1e128-d49d-7000-92ca-b285fcbd8a00
  belfry signing-secret revoke 01a1e128-d4 --yes
`

/** Commands for signing secrets: what receivers verify requests with. */
export function signingSecretCommand(program: Command): void {
  const group = program
    .command('signing-secret')
    .alias('signing-secrets')
    .usage('<command> [options]')
    .description('Secrets that sign requests: list, create, rotate, revoke')
    .helpOption('-h, --help', 'Show help; also after a command')
    .addHelpText('after', HELP)
  addClientFlags(forOrigin(group.command('list').alias('ls').description('List the secrets in use')))
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/signing-secrets.ts')).listSigningSecrets(flags))
  addClientFlags(forOrigin(group.command('create').description('Make a secret and print it once')))
    .addHelpText('after', CREATE_HELP)
    .action(async (flags) => (await import('../handlers/signing-secrets.ts')).createSigningSecret(flags))
  const rotate = group
    .command('rotate')
    .description('Make a new secret, and let the old one expire')
    .option('--keep-old-for <time>', 'Sign with the old one too for so long (default: 1d)')
  addClientFlags(forOrigin(rotate))
    .addHelpText('after', ROTATE_HELP)
    .action(async (flags) => (await import('../handlers/signing-secrets.ts')).rotateSigningSecret(flags))
  const revoke = group.command('revoke').alias('rm').description('Stop using a secret at once')
  addClientFlags(addYesFlag(revoke.argument('<id>', 'Its id, or the first 8 characters or more')))
    .addHelpText('after', REVOKE_HELP)
    .action(async (id, flags) =>
      (await import('../handlers/signing-secrets.ts')).revokeSigningSecret(id, flags),
    )
}

const forOrigin = (command: Command) =>
  command.option('--origin <origin>', 'Of requests to one receiver, such as https://hooks.example.com')
