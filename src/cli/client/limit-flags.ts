/** Flags for the limits of projects and keys, one per limit; an empty value removes the limit. */
import type { Command } from 'commander'
import type { InWords, KeyLimits, ProjectLimits } from '../../core/limits/limits.ts'
import { readNumber } from './flag-values.ts'

type LimitName = keyof InWords<ProjectLimits>

export type LimitFlags = { readonly [N in LimitName]?: string }

export const addKeyLimitFlags = (command: Command): Command =>
  command
    .option('--request-rate <rate>', 'Maximum number of API requests, such as 100/s')
    .option('--min-period <time>', 'Minimum time between two occurrences of a task')
    .option('--max-ahead <time>', 'Maximum time until the next occurrence')
    .option('--max-payload-bytes <n>', 'Maximum size of the definition of a task')

export const addProjectLimitFlags = (command: Command): Command =>
  addKeyLimitFlags(command)
    .option('--max-tasks <n>', 'Maximum number of tasks that have not ended')
    .option('--max-stored-bytes <n>', 'Maximum size of their definitions and all files')
    .option('--run-rate <rate>', 'Maximum number of runs that start, such as 10/s')
    .option('--max-running <n>', 'Maximum number of runs in progress at once')

/** How each limit is parsed and printed. */
const LIMITS: {
  readonly [N in LimitName]: readonly [read: (text: string) => unknown, tell: (value: never) => string]
} = {
  requestRate: [String, (rate: string) => `at most ${rate}`],
  minPeriod: [String, (time: string) => `at least ${time} between two occurrences of a task`],
  maxAhead: [String, (time: string) => `next occurrence at most ${time} ahead`],
  maxPayloadBytes: [readNumber, (bytes: number) => `definitions of at most ${bytes} bytes`],
  maxTasks: [readNumber, (tasks: number) => `at most ${tasks} tasks that have not ended`],
  maxStoredBytes: [readNumber, (bytes: number) => `at most ${bytes} bytes of definitions and files`],
  runRate: [String, (rate: string) => `at most ${rate}`],
  maxRunning: [readNumber, (runs: number) => `at most ${runs} runs in progress at once`],
}

const NAMES = Object.keys(LIMITS) as LimitName[]

/** The limits for a request; null if no flag was given. */
export function limitsFrom(flags: LimitFlags): Record<string, unknown> | null {
  const typed = NAMES.flatMap((name) => {
    const text = flags[name]
    return text === undefined ? [] : [[name, text === '' ? null : LIMITS[name][0](text)]]
  })
  return typed.length === 0 ? null : Object.fromEntries(typed)
}

/** The limits that are set, with their usage, as facts to print. */
export function limitFacts(
  limits: Partial<InWords<ProjectLimits> | InWords<KeyLimits>>,
  used: Readonly<Partial<Record<LimitName, number | null | undefined>>> = {},
): [string, string][] {
  const values: Readonly<Partial<Record<LimitName, unknown>>> = limits
  return NAMES.flatMap((name): [string, string][] => {
    const value = values[name]
    if (value == null) return []
    const use = used[name] == null ? '' : `, ${used[name]} used`
    return [[labelOf(name), `${LIMITS[name][1](value as never)}${use}`]]
  })
}

const labelOf = (name: LimitName) =>
  name.replace(/Bytes$/, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
