import type { Command, CommanderError } from 'commander'

/** What the parser found wrong, as a sentence, and where to read on. */
export function explainUsage(
  { message }: CommanderError,
  program: Command,
  args: readonly string[],
): { message: string; hint: string } {
  const [first = '', suggestion] = message.replace(/^error: /, '').split('\n')
  const [, similar] = /^\(Did you mean (?:one of )?(.+)\?\)$/.exec(suggestion ?? '') ?? []
  const sentence = first
    .replace(/^option '(--[a-z-]+) (<.*>)' argument missing$/, '$1 needs a value, $2')
    .replace(/^[a-z]/, (letter) => letter.toUpperCase())
    .replace(/\.$/, '')
  const path = pathTo(program, args)
  const elsewhere = /^Unknown command/.test(sentence)
    ? commandNamed(program, args[path.length - 1])
    : undefined
  if (elsewhere) return { message: `${sentence}. Did you mean '${elsewhere}'?`, hint: `${elsewhere} --help` }
  return {
    message: `${sentence}.${similar === undefined ? '' : ` Did you mean '${similar.replaceAll(', ', "' or '")}'?`}`,
    hint: [...path, '--help'].join(' '),
  }
}

/** The whole name of a command that was called by its last word only, where there is one. */
function commandNamed(program: Command, name: string | undefined): string | undefined {
  const group = program.commands.find(({ commands }) => commands.some((known) => known.name() === name))
  return group && `${program.name()} ${group.name()} ${name}`
}

/** Whether a word was typed where a command should be, and is none: help about something else would be no answer. */
export function isMistyped(command: Command, [first, ...rest]: readonly string[]): boolean {
  if (first === undefined || first === 'help' || first.startsWith('-') || command.commands.length === 0)
    return false
  const next = named(command, first)
  return next === undefined || isMistyped(next, rest)
}

const named = (command: Command, name: string | undefined): Command | undefined =>
  command.commands.find((known) => known.name() === name || known.aliases().includes(name ?? ''))

/** The names of the commands that were typed, as far as they exist. */
function pathTo(command: Command, [first, ...rest]: readonly string[]): string[] {
  const next = named(command, first)
  return [command.name(), ...(next === undefined ? [] : pathTo(next, rest))]
}
