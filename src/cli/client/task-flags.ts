/**
 * Flags of tasks, and their conversion to requests of the API. Values are sent as typed: only the server validates them, and
 * its errors are reported with the names of the flags.
 */
import { type Command, Option } from 'commander'
import type { Kind, Setting, TaskField } from '../../core/task/field-kinds.ts'
import { FIELD_LIST, membersOf } from '../../core/task/field-list.ts'
import { CliError } from '../exit.ts'
import { ACTION_FLAGS, actionFlag, PROGRAM_FLAGS, readAction } from './action-flags.ts'
import { readFileFlag } from './file-flag.ts'
import { parseJson, readJson, readNumber, usage } from './flag-values.ts'
import { readSchedule } from './schedule-flags.ts'

export type Flags = Readonly<Record<string, unknown>>
export type TaskInput = Record<string, unknown>

/** A flag that sets one field; an empty value removes the field. */
interface PlainFlag {
  readonly flag: string
  /** The field, or a member of it. */
  readonly path: readonly [string] | readonly [string, string]
  readonly kind: Kind
  readonly help: string
  readonly about: TaskField['about']
  readonly isRare?: true
}

/** Flags generated from the declaration of the fields. */
const PLAIN: readonly PlainFlag[] = FIELD_LIST.flatMap((field) => [
  ...flagOf([field.name], field, field.about),
  ...membersOf(field).flatMap(([member, setting]) => flagOf([field.name, member], setting, field.about)),
])

function flagOf(path: PlainFlag['path'], { flag, kind }: Setting, about: TaskField['about']): PlainFlag[] {
  if (flag === undefined) return []
  const choices = kind.type === 'choice' ? `: ${kind.of.join(', ')}` : ''
  const { name, takes, help, isRare } = flag
  const rare = isRare ? { isRare } : {}
  return [{ flag: `${name} <${takes}>`, path, kind, help: `${help}${choices}`, about, ...rare }]
}

const SCHEDULE = [
  { flag: '--every <time>', help: 'At a fixed interval' },
  { flag: '--delay <time>', help: 'This long after the end of each run' },
  { flag: '--cron <expression>', help: "Cron expression, such as '30 9 * * MON-FRI'" },
  { flag: '--daily <hh:mm>', help: 'Every day at this time' },
  { flag: '--at <instant>', help: 'Once, at a time such as 2027-01-01T09:00:00+01:00' },
  { flag: '--manual', help: 'Only when triggered' },
  { flag: '--timezone <zone>', help: "Time zone of the schedule (default: this machine's)" },
  { flag: '--gap <policy>', help: 'Wall-clock times that a clock change skips: next or skip', isRare: true },
  {
    flag: '--fold <policy>',
    help: 'Wall-clock times that a clock change repeats: first, last or both',
    isRare: true,
  },
  { flag: '--anchor <instant>', help: 'Time that --every is aligned to', isRare: true },
  { flag: '--schedule <words>', help: 'Schedule in words, or as JSON in the form of the API' },
] as const

const OTHER = [
  { flag: '--file <file>', help: 'Start from a task in a JSON file; - reads stdin' },
  { flag: '--set <field=json>', help: 'Any other field; repeatable', isRare: true, repeats: true },
] as const

const isAboutTrouble = ({ about }: PlainFlag) => about === 'trouble'

interface FlagGroup {
  readonly heading: string
  readonly flags: readonly AnyFlag[]
}

/** Declaration of a flag. */
interface AnyFlag {
  readonly flag: string
  readonly help: string
  readonly isRare?: true
  readonly repeats?: boolean
}

export const addTaskFlags = (command: Command): Command =>
  addFlags(command, { heading: 'What to do:', flags: ACTION_FLAGS })

/** The flags of a task that runs a program. */
export const addProgramFlags = (command: Command): Command =>
  addFlags(command, { heading: 'How to run it:', flags: PROGRAM_FLAGS })

function addFlags(command: Command, what: FlagGroup): Command {
  const plain = PLAIN.map((flag) => ({ ...flag, repeats: flag.kind.type === 'list' }))
  const groups: readonly FlagGroup[] = [
    what,
    { heading: 'When:', flags: SCHEDULE },
    { heading: 'Policies:', flags: plain.filter(isAboutTrouble) },
    { heading: 'Identity and placement:', flags: plain.filter((flag) => !isAboutTrouble(flag)) },
    { heading: 'Other:', flags: OTHER },
  ]
  for (const { heading, flags } of groups)
    for (const { flag, help, isRare, repeats } of flags) {
      const option = new Option(flag, help).helpGroup(heading)
      if (isRare) option.hideHelp()
      command.addOption(repeats ? option.argParser(collect) : option)
    }
  return command
}

/** Adds only the flags of a schedule. All of them appear in the help, since there is room. */
export function addScheduleFlags(command: Command): Command {
  for (const { flag, help } of SCHEDULE)
    if (flag !== '--manual') command.addOption(new Option(flag, help).helpGroup('When:'))
  return command
}

/** All flags that define a task. */
export const TASK_FLAGS = [...ACTION_FLAGS, ...SCHEDULE, ...PLAIN, ...OTHER].map(
  ({ flag }) => flag.split(' ')[0] ?? flag,
)

/** Lists the names of flags that the help does not explain, wrapped to the width of the help. */
const rareAmong = (flags: readonly AnyFlag[]) =>
  `More flags (see docs/reference/commands.md): ${flags
    .flatMap(({ flag, isRare }) => (isRare ? [flag.split(' ')[0]] : []))
    .join(' ')}`
    .match(/.{1,98}( |$)/g)
    ?.join('\n')

export const RARE_FLAGS = rareAmong([...ACTION_FLAGS, ...SCHEDULE, ...PLAIN, ...OTHER])
export const RARE_PROGRAM_FLAGS = rareAmong([...PROGRAM_FLAGS, ...SCHEDULE, ...PLAIN, ...OTHER])

const collect = (value: string, before: readonly string[] = []) => [...before, value]

/** Converts flags to a request. When a task is edited, the flags change its current definition. */
export async function readTaskFlags(flags: Flags, current: TaskInput = {}): Promise<TaskInput> {
  const input: TaskInput = { ...(await readFileFlag(flags['file'])) }
  for (const { flag, path, kind } of PLAIN) {
    const given = flags[attributeOf(flag)]
    if (given !== undefined) put(input, path, readValue(given, kind, flag))
  }
  for (const setting of (flags['set'] as readonly string[] | undefined) ?? []) {
    const [, field, text] = /^([A-Za-z]+)=(.*)$/s.exec(setting) ?? []
    if (field === undefined || text === undefined)
      throw usage(`--set is '${setting}'; it must have the form FIELD=JSON, such as priority=5.`)
    input[field] = readJson(text)
  }
  const action = await readAction(flags, input['action'] ?? current['action'])
  if (action !== undefined) input['action'] = action
  const schedule = readSchedule(flags, input['schedule'] ?? current['schedule'])
  if (schedule !== undefined) input['schedule'] = schedule
  return input
}

/** Returns the property name of a flag: `--retry-max <time>` becomes retryMax. */
const attributeOf = (flag: string): string => new Option(flag).attributeName()

function put(input: TaskInput, [field, member]: PlainFlag['path'], value: unknown): void {
  if (member === undefined) input[field] = value
  else input[field] = { ...(input[field] as object | undefined), [member]: value }
}

function readValue(given: unknown, { type }: Kind, flag: string): unknown {
  if (type === 'list') return (given as readonly string[]).filter((text) => text !== '')
  const text = given as string
  if (type === 'json') return strictJson(text, flag)
  if (text === '') return null
  if (type === 'boolean') return readJson(text)
  return type === 'integer' || type === 'number' ? readNumber(text) : text
}

function strictJson(text: string, flag: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof CliError) throw error
    throw usage(`${flag.split(' ')[0]} is not JSON: ${(error as Error).message}.`)
  }
}

const IN_SCHEDULE: Readonly<Record<string, string>> = {
  '': '--schedule',
  at: '--at',
  anchor: '--anchor',
  expression: '--cron',
  hour: '--daily',
  minute: '--daily',
  timezone: '--timezone',
  gap: '--gap',
  fold: '--fold',
}

/** Returns the flag that a field of the API was read from. */
export function flagAt(pointer: string, flags: Flags): string {
  const [, field = '', member = '', inner = ''] = pointer.split('/')
  if (field === 'name') return 'the name'
  if (field === 'action') return actionFlag(member, inner)
  if (field === 'schedule' && member === 'interval')
    return flags['delay'] === undefined ? '--every' : '--delay'
  if (field === 'schedule') return IN_SCHEDULE[member] ?? '--schedule'
  const known = PLAIN.find(({ path }) => path[0] === field && (path[1] ?? member) === member)
  const plain = known ?? PLAIN.find(({ path }) => path[0] === field)
  return plain?.flag.split(' ')[0] ?? (pointer.slice(1).replaceAll('/', '.') || 'the task')
}
