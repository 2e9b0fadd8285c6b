/** Entry point of the command line: parses the arguments, executes a command, and reports errors. */
import { type Command, CommanderError } from 'commander'
import { CliError, EXIT, type FailureDetails } from './exit.ts'
import { createProgram } from './program.ts'
import { onStderr, printErr } from './terminal.ts'
import { explainUsage, isMistyped } from './usage.ts'
import { VERSION } from './version.ts'

/** Time for pending operations of a failed command to end by themselves, such as the lookup of a host name that does not exist. */
const LINGER_MS = 200

// The reader of a pipe may close it (`belfry start | head`). That is neither an error nor a reason to stop.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const args = process.argv.slice(2)
const program = await createProgram(args, VERSION)
try {
  const asked = helpless(args)
  if (asked) asked.outputHelp()
  else if (isMistyped(program, args)) await program.parseAsync(args.filter(isNoHelp), { from: 'user' })
  else await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
  setTimeout(() => process.exit(), LINGER_MS).unref()
}

/** With a help flag, the parser would print help instead of reporting that the command does not exist. */
function isNoHelp(arg: string): boolean {
  return arg !== '--help' && arg !== '-h'
}

/** Returns the command whose help to print: the program or a group of commands, if it was given without a subcommand. */
function helpless([name, ...rest]: readonly string[]): Command | undefined {
  if (name === undefined) return program
  if (rest.length > 0) return undefined
  return program.commands.find(
    (group) =>
      group.commands.length > 0 &&
      group.name() !== 'worker' &&
      [group.name(), ...group.aliases()].includes(name),
  )
}

/** Reports an error in one sentence, with a second one about what to do. Prints a stack trace only for bugs. */
function report(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.ok
    const { message, hint } = explainUsage(error, program, args)
    return tell(message, hint, EXIT.usage)
  }
  const { hint } = error as { hint?: unknown }
  if (error instanceof CliError) return tell(error.message, error.hint, error.exitCode, error.details)
  if (error instanceof Error && typeof hint === 'string') return tell(error.message, hint, EXIT.failed)
  if (error instanceof Error && error.name === 'MigrationError') return tell(error.message, null, EXIT.failed)
  tell(`This is a bug in Belfry ${VERSION}. Please report it with the lines below.`, null, EXIT.failed)
  printErr(`${error instanceof Error ? error.stack : String(error)}\n`)
  return EXIT.failed
}

function tell(
  message: string,
  hint: string | null,
  exitCode: number,
  { why = [], code }: FailureDetails = {},
): number {
  const lines = [
    `${onStderr.red('error:')} ${message}`,
    ...why.map((line, index) => `${index === 0 ? onStderr.yellow('why:') : '    '}   ${line}`),
    ...(hint === null ? [] : [`${onStderr.cyan('try:')}   ${hint}`]),
    ...(code === undefined ? [] : [onStderr.dim(`code:  ${code}`)]),
  ]
  printErr(`${lines.join('\n')}\n`)
  return exitCode
}
