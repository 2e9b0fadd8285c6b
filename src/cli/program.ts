/**
 * What can be typed. Declaring a command loads nothing but its flags; what it does is loaded when it is
 * called, so that help and version answer at once. The parts of the program are wired together in here.
 */
import { Command } from 'commander'
import { auditLogCommand } from './commands/audit-log.ts'
import { blackoutCommand } from './commands/blackout.ts'
import { deadLetterCommand } from './commands/dead-letter.ts'
import { doctorCommand } from './commands/doctor.ts'
import { eventsCommand } from './commands/events.ts'
import { fileCommand } from './commands/file.ts'
import { importCommand } from './commands/import.ts'
import { keyCommand } from './commands/key.ts'
import { loginCommands } from './commands/login.ts'
import { memberCommand } from './commands/member.ts'
import { migrateCommand } from './commands/migrate.ts'
import { nodeCommand } from './commands/node.ts'
import { personCommand } from './commands/person.ts'
import { projectCommand } from './commands/project.ts'
import { queueCommand } from './commands/queue.ts'
import { runCommand } from './commands/run.ts'
import { runOnScheduleCommand } from './commands/run-on-schedule.ts'
import { scheduleCommand } from './commands/schedule.ts'
import { secretCommand } from './commands/secret.ts'
import { signingSecretCommand } from './commands/signing-secret.ts'
import { startCommand } from './commands/start.ts'
import { subscriptionCommand } from './commands/subscription.ts'
import { targetCommand } from './commands/target.ts'
import { taskCommand } from './commands/task.ts'
import { versionCommand } from './commands/version.ts'
import { workerCommand } from './commands/worker.ts'
import { VERSION } from './version.ts'

const HELP = `
Start here:
  belfry start                   run everything on this machine, with an embedded database
  belfry task create hello --every 10s --action sleep:1s
  belfry task run hello --wait   run it now
  Dashboard: http://127.0.0.1:3369, API reference: /docs. Another server: --server or BELFRY_URL.

Exit codes: 0 success, 1 failure, 2 invalid usage, 3 not found, 4 not allowed, 5 conflict,
6 database or server unreachable, 7 run failed (with --wait), 130 interrupted
`

export function createProgram(): Command {
  const program = new Command('belfry')
    .usage('<command> [options]')
    .description(
      'A task scheduler you run yourself: fires on time, retries what fails, and can prove that nothing was missed.',
    )
    .version(VERSION, '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [command]', 'Show help for a command')
    // What follows a command is for that command, also where a group has flags of its own.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => {} }) // main.ts tells errors, in its own words.
    .configureHelp({ subcommandTerm: (command) => command.name(), helpWidth: 98 })
    .addHelpText('after', HELP)
  startCommand(program)
  taskCommand(program)
  runCommand(program)
  scheduleCommand(program)
  runOnScheduleCommand(program)
  importCommand(program)
  eventsCommand(program)
  deadLetterCommand(program)
  subscriptionCommand(program)
  blackoutCommand(program)
  queueCommand(program)
  targetCommand(program)
  secretCommand(program)
  signingSecretCommand(program)
  fileCommand(program)
  nodeCommand(program)
  workerCommand(program)
  projectCommand(program)
  keyCommand(program)
  auditLogCommand(program)
  memberCommand(program)
  personCommand(program)
  loginCommands(program)
  migrateCommand(program)
  doctorCommand(program)
  versionCommand(program)
  return program
}
