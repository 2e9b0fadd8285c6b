/** Converts the limits of a project to and from the fields of a form. */
import type { Project, ProjectEdit } from '../../api/wire.ts'
import { numberOf } from '../../components/typed.ts'

type Limits = Project['limits']
type LimitName = keyof Limits

export interface LimitField {
  readonly name: LimitName
  readonly label: string
  /** Shown after the value where there is no room for the label. */
  readonly unit: string
  readonly description: string
  /** The current use and the limit; null if use is not counted. */
  readonly used?: (project: Project) => { readonly value: number; readonly of: number } | null
}

const counted = (value: number | null | undefined, of: number | null) =>
  value == null || of === null ? null : { value, of }

export const LIMIT_FIELDS: readonly LimitField[] = [
  {
    name: 'requestRate',
    label: 'Request rate',
    unit: 'requests',
    description: 'API requests, such as 100/s or 1000/m.',
    used: ({ use, limits }) =>
      limits.requestRate === null ? null : counted(use?.requests, Number.parseInt(limits.requestRate, 10)),
  },
  {
    name: 'runRate',
    label: 'Run rate',
    unit: 'runs',
    description: 'Runs that start, such as 10/s. Others wait.',
  },
  {
    name: 'maxRunning',
    label: 'Maximum runs in progress',
    unit: 'runs at once',
    description: 'How many runs may be in progress at once. Others wait.',
    used: ({ use, limits }) => counted(use?.running, limits.maxRunning),
  },
  {
    name: 'maxTasks',
    label: 'Maximum number of tasks',
    unit: 'tasks',
    description: 'Tasks that are neither finished, cancelled nor deleted.',
    used: ({ use, limits }) => counted(use?.tasks, limits.maxTasks),
  },
  {
    name: 'maxStoredBytes',
    label: 'Maximum size of tasks and files (bytes)',
    unit: 'bytes in total',
    description: 'Size of the definitions of these tasks and of all files together.',
    used: ({ use, limits }) => counted(use?.storedBytes, limits.maxStoredBytes),
  },
  {
    name: 'maxPayloadBytes',
    label: 'Maximum size of a task (bytes)',
    unit: 'bytes per task',
    description: 'Size of the definition of one task, with its payload.',
  },
  {
    name: 'minPeriod',
    label: 'Minimum interval between runs',
    unit: 'between runs',
    description: 'Such as 1s or 1m. Minimum: 10ms.',
  },
  {
    name: 'maxAhead',
    label: 'Maximum time ahead',
    unit: 'ahead',
    description: 'How far in the future a task may be due, such as 30d.',
  },
]

const NUMBERS: ReadonlySet<LimitName> = new Set([
  'maxRunning',
  'maxTasks',
  'maxStoredBytes',
  'maxPayloadBytes',
])

/** Limits that API keys can have, too. */
export const KEY_LIMIT_FIELDS = LIMIT_FIELDS.filter(({ name }) =>
  ['requestRate', 'maxPayloadBytes', 'minPeriod', 'maxAhead'].includes(name),
)

/** Limits in an answer; missing ones are not set. */
type SetLimits = Readonly<Partial<Record<LimitName, string | number | null>>>
export type TypedLimits = Readonly<Record<LimitName, string>>

/** The limits as form fields; an empty string means no limit. */
export const typedLimits = (limits: SetLimits): TypedLimits =>
  Object.fromEntries(LIMIT_FIELDS.map(({ name }) => [name, String(limits[name] ?? '')])) as TypedLimits

/** The changed limits for the API; null removes a limit. */
export function limitsEdit(limits: SetLimits, typed: TypedLimits): NonNullable<ProjectEdit['limits']> {
  const before = typedLimits(limits)
  const changed = LIMIT_FIELDS.flatMap(({ name }) => {
    const text = typed[name].trim()
    if (text === before[name]) return []
    return [[name, text === '' ? null : NUMBERS.has(name) ? numberOf(text) : text]]
  })
  return Object.fromEntries(changed)
}

/** The changed limits as flags of the command line. */
export const limitFlags = (edit: object): string[][] =>
  Object.entries(edit).map(([name, value]) => [
    `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    String(value ?? ''),
  ])
