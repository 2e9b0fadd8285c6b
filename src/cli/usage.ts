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
  const command = program.commands.find((known) => known.name() === args[0])
  return {
    message: `${sentence}.${similar === undefined ? '' : ` Did you mean '${similar}'?`}`,
    hint: `belfry ${command === undefined ? '' : `${command.name()} `}--help`,
  }
}
