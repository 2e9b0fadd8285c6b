/** Converts a program to and from the fields of the form. */
import type { ExecAction } from '../../../src/core/action/action.ts'
import type { Action } from '../../api/wire.ts'
import { bodyText, jsonOrText, jsonText } from '../../components/typed.ts'
import type { Draft } from './draft.ts'

export function programFields(action: ExecAction): Partial<Draft> {
  return {
    action: 'exec',
    program: action.command === undefined ? 'file' : 'command',
    file: action.file ?? '',
    command: action.command ?? '',
    args: argumentLines(action.args ?? []),
    env: Object.entries(action.env ?? {})
      .map(([name, value]) => `${name}=${quotedIfNeeded(value)}`)
      .join('\n'),
    stdin: bodyText(action.stdin),
    network: action.network ?? false,
    files: jsonText(action.files),
    limits: jsonText(action.limits),
    exitCodes: jsonText(action.exitCodes),
  }
}

export function programOf(draft: Draft): Action {
  const { program, file, command, network } = draft
  return {
    type: 'exec',
    ...(program === 'file' ? { file: file.trim() } : { command: command.trim() }),
    ...member('args', argumentsOf(draft.args)),
    ...member('env', variablesOf(draft.env)),
    ...(draft.stdin === '' ? {} : { stdin: jsonOrText(draft.stdin) }),
    ...member('files', jsonOf(draft.files)),
    ...(network ? { network } : {}),
    ...member('limits', jsonOf(draft.limits)),
    ...member('exitCodes', jsonOf(draft.exitCodes)),
  } as Action
}

const member = (name: string, value: unknown) => (value === undefined ? {} : { [name]: value })

const jsonOf = (text: string): unknown => (text.trim() === '' ? undefined : jsonOrText(text))

/** Text with line breaks, or with quotes around it, is written as a JSON string. */
const quotedIfNeeded = (text: string): string =>
  text === '' || /[\n\r]|^"|^\s|\s$/.test(text) ? JSON.stringify(text) : text

const argumentLines = (args: readonly string[]): string => args.map(quotedIfNeeded).join('\n')

function argumentsOf(text: string): string[] | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.length === 0 ? undefined : lines.map(unquoted)
}

function unquoted(line: string): string {
  const typed = line.trim()
  if (!typed.startsWith('"')) return typed
  const value = jsonOrText(typed)
  return typeof value === 'string' ? value : typed
}

function variablesOf(text: string): Record<string, string> | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return undefined
  return Object.fromEntries(
    lines.map((line) => {
      const equals = line.indexOf('=')
      return equals < 0 ? [line.trim(), ''] : [line.slice(0, equals).trim(), unquoted(line.slice(equals + 1))]
    }),
  )
}
