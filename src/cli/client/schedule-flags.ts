/** Schedules on the command line: one flag for each kind of schedule, and flags for further settings. */
import { onStdout as c } from '../terminal.ts'
import { readJson, usage } from './flag-values.ts'
import type { Flags } from './task-flags.ts'

/** Flags that define a schedule; a task has exactly one. */
export const SCHEDULE_KINDS = ['every', 'delay', 'cron', 'daily', 'at', 'manual', 'schedule'] as const
const ON_THE_WALL_CLOCK = ['cron', 'daily', 'schedule']

export const machineZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'

/** Returns a new schedule if a flag defines one, else the current schedule with the changes from the other flags. */
export function readSchedule(flags: Flags, current: unknown): unknown {
  const given = SCHEDULE_KINDS.filter((kind) => flags[kind] !== undefined)
  if (given.length > 1)
    throw usage(`A task has one schedule; use only one of ${given.map((kind) => `--${kind}`).join(' and ')}.`)
  const [kind] = given
  const more = readMore(flags)
  if (kind === undefined && Object.keys(more).length === 0) return undefined
  if (kind === undefined && current === undefined)
    throw usage(`${Object.keys(more).map((name) => `--${name}`)} needs a schedule.`)
  const schedule =
    kind === undefined ? (current as object | string) : scheduleOf(kind, flags[kind], zoneOf(current))
  if (Object.keys(more).length === 0) return schedule
  if (Array.isArray(schedule)) throw usage('In a list of triggers, set these fields on each trigger.')
  if (typeof schedule === 'string') return { type: 'words', words: schedule, ...more }
  return { ...schedule, ...more }
}

/** Whether this machine's time zone is used because none was given. */
export function hasAssumedZone(flags: Flags): boolean {
  return flags['timezone'] === undefined && ON_THE_WALL_CLOCK.some((kind) => flags[kind] !== undefined)
}

/** Says which time zone a schedule has if none was given; empty for others. */
export const zoneNote = (timezone: string | null, isAssumed: boolean): string =>
  isAssumed && timezone === machineZone()
    ? c.dim(`  ${timezone} is the time zone of this machine; to change it: --timezone`)
    : ''

function scheduleOf(
  kind: (typeof SCHEDULE_KINDS)[number],
  value: unknown,
  timezone: string,
): object | string {
  switch (kind) {
    case 'every':
    case 'delay':
      return { type: kind, interval: value }
    case 'at':
      return { type: 'once', at: value }
    case 'cron':
      return { type: 'cron', expression: value, timezone }
    case 'daily':
      return { type: 'daily', ...readTime(String(value)), timezone }
    case 'manual':
      return { type: 'manual' }
    case 'schedule':
      return readWhole(String(value), timezone)
  }
}

/** An existing schedule keeps its time zone; a new one gets this machine's. */
function zoneOf(current: unknown): string {
  const zone = (current as { readonly timezone?: unknown } | undefined)?.timezone
  return typeof zone === 'string' ? zone : machineZone()
}

function readTime(text: string): { hour: number; minute: number } {
  const [, hour, minute] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? []
  if (hour === undefined || minute === undefined)
    throw usage(`--daily is '${text}'; it must be a time such as 09:30.`)
  return { hour: Number(hour), minute: Number(minute) }
}

/** JSON begins with a brace, a bracket or a quote; everything else is a schedule in words, which the server parses. */
function readWhole(text: string, timezone: string): object | string {
  if (!/^\s*[[{"]/.test(text)) return { type: 'words', words: text, timezone }
  const whole = readJson(text)
  if (typeof whole === 'string' || (typeof whole === 'object' && whole !== null)) return whole
  throw usage(
    `--schedule is '${text}'; it must be words such as 'every weekday at 9:00', or JSON such as {"type":"every","interval":"10s"}.`,
  )
}

function readMore(flags: Flags): Record<string, unknown> {
  const names = ['timezone', 'gap', 'fold', 'anchor'] as const
  return Object.fromEntries(names.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]])))
}
