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
  return {
    message: `${sentence}.${similar === undefined ? '' : ` Did you mean '${similar.replaceAll(', ', "' or '")}'?`}`,
    hint: `${[...pathTo(program, args), '--help'].join(' ')}`,
  }
}

/** The names of the commands that were typed, as far as they exist. */
function pathTo(command: Command, [first, ...rest]: readonly string[]): string[] {
  const next = command.commands.find(
    (known) => known.name() === first || known.aliases().includes(first ?? ''),
  )
  return [command.name(), ...(next === undefined ? [] : pathTo(next, rest))]
}
