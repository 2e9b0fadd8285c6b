import type { Command, CommanderError } from 'commander'
import { meaningOf } from './synonyms.ts'

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
  const meant = /^Unknown command/.test(sentence)
    ? meantCommand(program, path, args[path.length - 1] ?? '')
    : undefined
  if (meant) return { message: `${sentence}. Did you mean '${meant}'?`, hint: `${meant} --help` }
  return {
    message: `${sentence}.${similar === undefined ? '' : ` Did you mean '${similar.replaceAll(', ', "' or '")}'?`}`,
    hint: [...path, '--help'].join(' '),
  }
}

/** The whole name of the command that an unknown word stands for: here by its meaning, or in a group by its name. */
function meantCommand(program: Command, path: readonly string[], word: string): string | undefined {
  const here = path.slice(1).reduce((command, name) => named(command, name) ?? command, program)
  const meaning = meaningOf(word, namesIn(here))
  if (meaning !== undefined) return [...path, meaning].join(' ')
  return path.length > 1 ? undefined : commandInGroup(program, word)
}

/** A command that was called by its last word only, or by a word that means the same. */
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
