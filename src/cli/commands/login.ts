import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'

const LOGIN_HELP = `
Asks for an API key, checks it, and stores it with the address of the server in a file that only
you can read. Later commands use the profile 'default', or the one named by --profile or
BELFRY_PROFILE.

Examples:
  belfry login --server https://belfry.example.com
  belfry login --server https://staging.example.com --profile staging
  belfry login --key-stdin < key.txt
`

const LOGOUT_HELP = `
Removes the profile from this machine. The API key itself stays valid; to revoke it: belfry key revoke

Examples:
  belfry logout
  belfry logout --profile staging
`

const WHOAMI_HELP = `
Examples:
  belfry whoami
  belfry whoami --profile staging --field name
`

/** Commands for login profiles, which store an API key for each server. */
export function loginCommands(program: Command): void {
  addClientFlags(
    program
      .command('login')
      .description('Store the API key of a server in a profile')
      .option('--key-stdin', 'Read the key from standard input'),
  )
    .addHelpText('after', LOGIN_HELP)
    .action(async (flags) => (await import('../handlers/login.ts')).login(flags))
  addClientFlags(program.command('logout').description('Remove a profile'))
    .addHelpText('after', LOGOUT_HELP)
    .action(async (flags) => (await import('../handlers/login.ts')).logout(flags))
  addClientFlags(program.command('whoami').description('Show who you are logged in as'))
    .addHelpText('after', WHOAMI_HELP)
    .action(async (flags) => (await import('../handlers/login.ts')).whoami(flags))
}
