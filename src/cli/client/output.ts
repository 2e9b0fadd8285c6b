/** Prints results: tables for people, JSON or one bare value for programs. All other messages go to standard error. */
import { type Command, Option } from 'commander'
import { CliError, EXIT } from '../exit.ts'
import { printErr, printOut } from '../terminal.ts'
import { type ConnectionFlags, connectionFrom } from './connection.ts'
import { authorityFrom, Server } from './server.ts'

/** Flags that every command of the client has. */
export interface ClientFlags extends ConnectionFlags {
  readonly caFile?: string
  readonly project?: string
  readonly reason?: string
  readonly json?: boolean
  readonly field?: string
}

export function addClientFlags(command: Command): Command {
  // Some commands define `--reason` themselves because they also show the reason elsewhere.
  const hasReason = command.options.some(({ long }) => long === '--reason')
  if (!hasReason) command.addOption(new Option('--reason <text>', 'Reason for the change').hideHelp())
  return command
    .option('--json', 'Print JSON')
    .option('--field <name>', 'Print one field of the result, such as retry.limit')
    .option('--server <url>', 'Address of the server (default: BELFRY_URL, else http://127.0.0.1:3369)')
    .option('--project <name>', 'Project (default: BELFRY_PROJECT, else the project of the API key)')
    .option('--api-key <key>', 'API key (default: BELFRY_KEY, or the file BELFRY_KEY_FILE)')
    .option('--profile <name>', 'Profile of belfry login (default: BELFRY_PROFILE, else default)')
    .option('--ca-file <file>', "Certificate of the server's private authority (default: BELFRY_CA_FILE)")
    .addOption(new Option('--token <token>').hideHelp())
    .helpOption('-h, --help', 'Show this help')
}

/** For commands that delete or end something permanently: they ask for confirmation on a terminal; scripts pass --yes. */
export const addYesFlag = (command: Command): Command =>
  command.option('-y, --yes', 'Do not ask for confirmation')

export function serverFrom(flags: ClientFlags): Server {
  const { url, key } = connectionFrom(flags, process.env)
  return new Server(url, {
    key,
    ca: authorityFrom(flags.caFile, process.env),
    project: flags.project ?? process.env['BELFRY_PROJECT'] ?? null,
    reason: flags.reason ?? process.env['BELFRY_REASON'] ?? null,
  })
}

export const write = printOut

/** Prints a message that is not part of the result. */
export const remark = printErr

/** Prints a result in the requested form. */
export function give(result: unknown, { json, field }: ClientFlags, text: () => string): void {
  if (field !== undefined) writeBare(bare(result, field))
  else write(json ? `${JSON.stringify(result, null, 2)}\n` : text())
}

/** Prints one field of each item of a list. */
export const writeField = (items: readonly unknown[], field: string): void => writeBare(bare(items, field))

/** Writes the exact text for programs; on a terminal, control characters are made harmless. */
function writeBare(text: string): void {
  if (process.stdout.isTTY) write(text)
  else process.stdout.write(text)
}

/** Returns one field of the result, or of each item if it is a list: text unchanged, everything else as JSON. */
function bare(result: unknown, field: string): string {
  const values = Array.isArray(result) ? result : [result]
  return values
    .map((value) => {
      const found = memberAt(value, field)
      return `${typeof found === 'string' ? found : JSON.stringify(found)}\n`
    })
    .join('')
}

function memberAt(value: unknown, path: string): unknown {
  let reached = value
  for (const name of path.split('.')) {
    const isObject = typeof reached === 'object' && reached !== null
    if (!isObject || !Object.hasOwn(reached as object, name))
      throw new CliError(
        `The result has no field ${path}${isObject ? `; its fields are ${Object.keys(reached as object).join(', ')}` : ''}.`,
        'To see all fields: --json',
        EXIT.usage,
      )
    reached = (reached as Record<string, unknown>)[name]
  }
  return reached
}
