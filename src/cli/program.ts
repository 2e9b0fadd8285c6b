/**
 * Declares the commands. Only the group of the given command is declared, and its handlers are loaded when called: declaring
 * all groups takes longer than most commands do. Help for the program and unknown commands require all groups.
 */
import { Command } from 'commander'

const HELP = `
Start here:
  belfry start                   run everything on this machine, with an embedded database
  belfry task create hello --every 10s --action sleep:1s
  belfry task run hello --wait   run it now
  Dashboard: http://127.0.0.1:3369, API reference: /docs. Another server: --server or BELFRY_URL.

Exit codes: 0 success, 1 failure, 2 invalid usage, 3 not found, 4 not allowed, 5 conflict,
6 database or server unreachable, 7 run failed (with --wait), 130 interrupted
`

interface Group {
  /** Names of commands and their aliases. */
  readonly words: readonly string[]
  load(): Promise<(program: Command) => void>
}

/** In the order of the help. */
const GROUPS: readonly Group[] = [
  { words: ['start'], load: async () => (await import('./commands/start.ts')).startCommand },
  { words: ['task', 'tasks'], load: async () => (await import('./commands/task.ts')).taskCommand },
  { words: ['run', 'runs'], load: async () => (await import('./commands/run.ts')).runCommand },
  {
    words: ['schedule', 'schedules'],
    load: async () => (await import('./commands/schedule.ts')).scheduleCommand,
  },
  {
    words: ['run-on-schedule'],
    load: async () => (await import('./commands/run-on-schedule.ts')).runOnScheduleCommand,
  },
  { words: ['import'], load: async () => (await import('./commands/import.ts')).importCommand },
  { words: ['events', 'tail'], load: async () => (await import('./commands/events.ts')).eventsCommand },
  {
    words: ['dead-letter', 'dead-letters'],
    load: async () => (await import('./commands/dead-letter.ts')).deadLetterCommand,
  },
  {
    words: ['subscription', 'subscriptions'],
    load: async () => (await import('./commands/subscription.ts')).subscriptionCommand,
  },
  {
    words: ['blackout', 'blackouts'],
    load: async () => (await import('./commands/blackout.ts')).blackoutCommand,
  },
  { words: ['queue', 'queues'], load: async () => (await import('./commands/queue.ts')).queueCommand },
  { words: ['target', 'targets'], load: async () => (await import('./commands/target.ts')).targetCommand },
  { words: ['secret', 'secrets'], load: async () => (await import('./commands/secret.ts')).secretCommand },
  {
    words: ['signing-secret', 'signing-secrets'],
    load: async () => (await import('./commands/signing-secret.ts')).signingSecretCommand,
  },
  { words: ['file', 'files'], load: async () => (await import('./commands/file.ts')).fileCommand },
  { words: ['node', 'nodes'], load: async () => (await import('./commands/node.ts')).nodeCommand },
  { words: ['worker', 'workers'], load: async () => (await import('./commands/worker.ts')).workerCommand },
  {
    words: ['project', 'projects'],
    load: async () => (await import('./commands/project.ts')).projectCommand,
  },
  { words: ['key', 'keys'], load: async () => (await import('./commands/key.ts')).keyCommand },
  { words: ['audit-log'], load: async () => (await import('./commands/audit-log.ts')).auditLogCommand },
  { words: ['member', 'members'], load: async () => (await import('./commands/member.ts')).memberCommand },
  { words: ['person', 'people'], load: async () => (await import('./commands/person.ts')).personCommand },
  {
    words: ['login', 'logout', 'whoami'],
    load: async () => (await import('./commands/login.ts')).loginCommands,
  },
  { words: ['migrate'], load: async () => (await import('./commands/migrate.ts')).migrateCommand },
  { words: ['doctor'], load: async () => (await import('./commands/doctor.ts')).doctorCommand },
  {
    words: ['version', '-V', '--version'],
    load: async () => (await import('./commands/version.ts')).versionCommand,
  },
]

export async function createProgram([word]: readonly string[], version: string): Promise<Command> {
  const program = new Command('belfry')
    .usage('<command> [options]')
    .description(
      'A task scheduler you run yourself: fires on time, retries what fails, and can prove that nothing was missed.',
    )
    .version(version, '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [command]', 'Show help for a command')
    // Options after a command belong to that command, even if its group has its own options.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => {} }) // main.ts reports errors.
    .configureHelp({ subcommandTerm: (command) => command.name(), helpWidth: 98 })
    .addHelpText('after', HELP)
  const named = GROUPS.filter(({ words }) => word !== undefined && words.includes(word))
  for (const declare of await Promise.all((named.length > 0 ? named : GROUPS).map(({ load }) => load())))
    declare(program)
  return program
}
