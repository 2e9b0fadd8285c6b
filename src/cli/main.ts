/** The command line. Parts are wired together here and nowhere else; each command loads only what it needs. */
import { Command, CommanderError } from 'commander'
import pc from 'picocolors'
import { doctorCommand } from './commands/doctor.ts'
import { migrateCommand } from './commands/migrate.ts'
import { startCommand } from './commands/start.ts'
import { versionCommand } from './commands/version.ts'
import { CliError, EXIT } from './exit.ts'
import { VERSION } from './version.ts'

const program = new Command('belfry')
  .description(
    'A task scheduler you run yourself: fires on time, retries what fails, and can prove that nothing was missed.',
  )
  .version(VERSION, '-V, --version', 'Print the version')
  .showSuggestionAfterError()
  .helpCommand(true)
  .exitOverride()
  .configureOutput({ outputError: (text, write) => write(pc.red(text)) })
  .addHelpText(
    'after',
    `
Start here:
  belfry start                                   then open the address it prints
  curl -X POST http://127.0.0.1:3369/tasks -H 'Content-Type: application/json' -d '{"command":"5s"}'

Exit codes: 0 ok, 1 failed, 2 wrong usage, 4 not allowed, 5 conflict, 6 unreachable.
`,
  )
startCommand(program)
migrateCommand(program)
doctorCommand(program)
versionCommand(program)

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

/** Tells what went wrong in a sentence and what to do in another; a stack trace is for bugs only. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  const { hint, exitCode } = error as { hint?: unknown; exitCode?: unknown }
  if (
    error instanceof Error &&
    (error instanceof CliError || typeof hint === 'string' || error.name === 'MigrationError')
  ) {
    process.stderr.write(`${pc.red('error:')} ${error.message}\n`)
    if (typeof hint === 'string') process.stderr.write(`${pc.cyan('try:')}   ${hint}\n`)
    return typeof exitCode === 'number' ? exitCode : EXIT.failed
  }
  process.stderr.write(
    `${pc.red('error:')} This is a bug in Belfry ${VERSION}. Please report it with the lines below.\n`,
  )
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  return EXIT.failed
}
