/**
 * The command that is equivalent to the form. Fields with a flag use it; a field without one, or whose value could be misread,
 * is given as JSON, which every field accepts.
 */
import { targetMember } from '../../../src/core/action/action.ts'
import type { Kind, Setting } from '../../../src/core/task/field-kinds.ts'
import { FIELD_LIST, membersOf } from '../../../src/core/task/field-list.ts'
import { DEFAULT_SERVER } from '../../../src/core/values/default-server.ts'
import type { TaskInput } from '../../api/wire.ts'
import { shellLines } from '../../components/shell.ts'

type Words = readonly string[]
type Fields = Readonly<Record<string, unknown>>

export interface CommandOptions {
  /** The server that this page was loaded from. */
  readonly server: string
}

export const createCommand = (input: TaskInput, options: CommandOptions): string =>
  shellLines(createParts(input, options))

/** The command in parts: the command itself, and one part for each field of the task. */
export function createParts(input: TaskInput, { server }: CommandOptions): Words[] {
  const { name, ...fields } = input
  const head = ['belfry', 'task', 'create', ...(isPlainWord(name) ? [name] : [])]
  const named = name === undefined || isPlainWord(name) ? [] : [setting('name', name)]
  return [head, ...named, ...wordsOf(fields), ...serverWords(server)]
}

export interface EditOptions extends CommandOptions {
  readonly id: string
  readonly version: number
  readonly reason?: string
}

export function editCommand(changes: Partial<TaskInput>, options: EditOptions): string {
  const { id, version, server, reason } = options
  const head = ['belfry', 'task', 'edit', id, '--if-version', String(version)]
  const why = reason === undefined ? [] : [['--reason', reason]]
  return shellLines([head, ...wordsOf(changes), ...why, ...serverWords(server)])
}

const serverWords = (server: string): Words[] => (server === DEFAULT_SERVER ? [] : [['--server', server]])

/** A word that cannot be mistaken for a flag. */
const isPlainWord = (text: unknown): text is string =>
  typeof text === 'string' && text !== '' && !text.startsWith('-')

const setting = (field: string, value: unknown): Words => ['--set', `${field}=${JSON.stringify(value)}`]

/** The words of the command for each field; several for a field with several members. */
export function wordsOf(fields: Fields): Words[] {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .flatMap(([field, value]) => wordsOfField(field, value))
}

function wordsOfField(field: string, value: unknown): Words[] {
  const whole = [setting(field, value)]
  if (field === 'action') return actionWords(value as Fields) ?? [['--action', JSON.stringify(value)]]
  if (field === 'schedule') return scheduleWords(value as Fields) ?? [['--schedule', JSON.stringify(value)]]
  const declared = FIELD_LIST.find(({ name }) => name === field)
  if (declared === undefined) return whole
  if (declared.kind.type === 'object') return memberWords(declared, value as Fields) ?? whole
  const flag = field === 'name' ? '--name' : declared.flag?.name
  return (flag === undefined ? null : flagWords(flag, declared.kind, value)) ?? whole
}

/** Returns null if the flag cannot express the value. */
function flagWords(flag: string, { type }: Kind, value: unknown): Words[] | null {
  if (type === 'list') return listWords(flag, value)
  if (type === 'json') return null
  const isNumber = type === 'integer' || type === 'number'
  if (type === 'boolean') return [[flag, String(value)]]
  const word = value === null ? '' : isNumber ? numberWord(value) : textWord(value)
  return word === null ? null : [[flag, word]]
}

/** On the command line an empty value means that the field is not set, so an empty text cannot be expressed. */
const textWord = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
const numberWord = (value: unknown): string | null =>
  typeof value === 'number' && Number.isFinite(value) ? String(value) : null

function listWords(flag: string, value: unknown): Words[] | null {
  const items = value as readonly unknown[]
  if (items.length === 0) return [[flag, '']]
  const words = items.map(textWord)
  return words.every((word) => word !== null) ? words.map((word) => [flag, word]) : null
}

function memberWords(field: Setting, value: Fields): Words[] | null {
  const flags = new Map(membersOf(field).map(([member, { flag }]) => [member, flag?.name]))
  const words = Object.entries(value).map(([member, inner]) => {
    const flag = flags.get(member)
    const word = typeof inner === 'number' ? numberWord(inner) : textWord(inner)
    return flag === undefined || word === null ? null : [flag, word]
  })
  return words.length > 0 && words.every((pair) => pair !== null) ? words : null
}

/** Additional flags of an action. Kinds without them refuse them. */
const PARTS: Readonly<Record<string, (value: unknown) => Words[] | null>> = {
  method: (value) => (typeof value === 'string' ? [['--method', value]] : null),
  headers: headerWords,
  body: (value) => [['--body', bodyWord(value)]],
  payload: (value) => [['--payload', bodyWord(value)]],
  expect: (value) => (isStatusList(value) ? [['--expect', value.join(',')]] : null),
  text: (value) => textWords('--text', value),
  blocks: (value) => [['--blocks', bodyWord(value)]],
  subject: (value) => textWords('--subject', value),
  html: (value) => (String(value).startsWith('@') ? null : textWords('--html', value)),
  cc: (value) => addressWords('--cc', value),
  bcc: (value) => addressWords('--bcc', value),
  from: (value) => textWords('--from', value),
  replyTo: (value) => textWords('--reply-to', value),
}

const textWords = (flag: string, value: unknown): Words[] | null =>
  typeof value === 'string' ? [[flag, value]] : null
/** The flag produces a list, so a single address that is not a list is given as JSON. */
const addressWords = (flag: string, value: unknown): Words[] | null =>
  Array.isArray(value) && value.length > 0 ? listWords(flag, value) : null

function actionWords({ type, ...members }: Fields): Words[] | null {
  const program = members['command'] ?? members['file']
  const member = targetMember(String(type), String(program)) ?? ''
  const { [member]: targets, ...parts } = members
  // The first recipient is the argument of the action, the others follow; a list of one would be read as a single address.
  const [target, ...others] = type === 'email' && Array.isArray(targets) ? targets : [targets]
  if (typeof target !== 'string' || target === '' || (Array.isArray(targets) && others.length === 0))
    return null
  const beside = others.length === 0 ? [] : listWords('--to', others)
  if (beside === null) return null
  const more = Object.entries(parts).map(([name, value]) => PARTS[name]?.(value) ?? null)
  if (!more.every((words) => words !== null)) return null
  return [['--action', `${type}:${target}`], ...beside, ...more.flat()]
}

function headerWords(value: unknown): Words[] | null {
  const headers = Object.entries(value as Readonly<Record<string, string>>)
  const isPlain = headers.every(
    ([name, text]) => /^[^:\s]+$/.test(name) && typeof text === 'string' && text === text.trim(),
  )
  return isPlain && headers.length > 0
    ? headers.map(([name, text]) => ['--header', `${name}: ${text}`])
    : null
}

/** Text that would be read as JSON or as a file name is given as a JSON string. */
function bodyWord(body: unknown): string {
  if (typeof body !== 'string' || body.startsWith('@')) return JSON.stringify(body)
  try {
    JSON.parse(body)
    return JSON.stringify(body)
  } catch {
    return body
  }
}

const isStatusList = (value: unknown): value is readonly (string | number)[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((status) => typeof status === 'number' || /^\dxx$/.test(String(status)))

function scheduleWords(schedule: Fields): Words[] | null {
  const { type, ...members } = schedule
  const main = kindWords(String(type), members)
  if (main === null) return null
  const known = ['timezone', 'gap', 'fold', 'anchor']
  const rest = Object.entries(members).filter(([name]) => !main.says.includes(name))
  if (!rest.every(([name, value]) => known.includes(name) && typeof value === 'string')) return null
  return [main.words, ...rest.map(([name, value]) => [`--${name}`, String(value)])]
}

interface KindWords {
  readonly words: Words
  /** Members that these words express. */
  readonly says: readonly string[]
}

function kindWords(
  type: string,
  { at, interval, expression, hour, minute, timezone, words }: Fields,
): KindWords | null {
  if (type === 'manual') return { words: ['--manual'], says: [] }
  if (type === 'once' && typeof at === 'string') return { words: ['--at', at], says: ['at'] }
  if ((type === 'every' || type === 'delay') && typeof interval === 'string')
    return { words: [`--${type}`, interval], says: ['interval'] }
  // Without a zone the command line would use that of its machine.
  if (typeof timezone !== 'string') return null
  if (type === 'words' && typeof words === 'string') return { words: ['--schedule', words], says: ['words'] }
  if (type === 'cron' && typeof expression === 'string')
    return { words: ['--cron', expression], says: ['expression'] }
  const isTime = [hour, minute].every(
    (part) => Number.isInteger(part) && Number(part) >= 0 && Number(part) < 100,
  )
  if (type === 'daily' && isTime)
    return { words: ['--daily', [hour, minute].map(two).join(':')], says: ['hour', 'minute'] }
  return null
}

const two = (value: unknown) => String(value).padStart(2, '0')
