import type { Command, CommanderError } from 'commander'
import { meaningOf } from './synonyms.ts'

/** Converts an error of the parser to a sentence and a hint where to read more. */
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
  const meant = /^Unknown command/.test(sentence)
    ? meantCommand(program, path, args[path.length - 1] ?? '')
    : undefined
  if (meant) return { message: `${sentence}. Did you mean '${meant}'?`, hint: `${meant} --help` }
  return {
    message: `${sentence}.${similar === undefined ? '' : ` Did you mean '${similar.replaceAll(', ', "' or '")}'?`}`,
    hint: [...path, '--help'].join(' '),
  }
}

/**
 * Returns the full name of the command that an unknown word stands for: at this level a synonym, or at the top level a command
 * within a group.
 */
function meantCommand(program: Command, path: readonly string[], word: string): string | undefined {
  const here = path.slice(1).reduce((command, name) => named(command, name) ?? command, program)
  const meaning = meaningOf(word, namesIn(here))
  if (meaning !== undefined) return [...path, meaning].join(' ')
  return path.length > 1 ? undefined : commandInGroup(program, word)
}

/** Finds a command within a group by its own name or a synonym. */
function commandInGroup(program: Command, word: string): string | undefined {
  for (const wordIn of [sameWord, meaningOf])
    for (const group of program.commands) {
      const name = wordIn(word, namesIn(group))
      if (name !== undefined) return `${program.name()} ${group.name()} ${name}`
    }
  return undefined
}

const sameWord = (word: string, names: readonly string[]) => names.find((name) => name === word)

const namesIn = ({ commands }: Command): string[] => commands.map((command) => command.name())

/** Whether an argument in the place of a command is not a command: help for something else would be misleading. */
export function isMistyped(command: Command, [first, ...rest]: readonly string[]): boolean {
  if (first === undefined || first === 'help' || first.startsWith('-') || command.commands.length === 0)
    return false
  const next = named(command, first)
  return next === undefined || isMistyped(next, rest)
}

const named = (command: Command, name: string | undefined): Command | undefined =>
  command.commands.find((known) => known.name() === name || known.aliases().includes(name ?? ''))

/** Returns the names of the commands given, as far as they exist. */
function pathTo(command: Command, [first, ...rest]: readonly string[]): string[] {
  const next = named(command, first)
  return [command.name(), ...(next === undefined ? [] : pathTo(next, rest))]
}
