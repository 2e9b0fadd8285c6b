/** Formats tasks for the terminal: a line in a list, or all details. */
import type { Task } from '../../api/resources/tasks/schemas.ts'
import type { Action } from '../../core/action/action.ts'
import { printable } from '../../core/values/printable.ts'
import { actionWords } from '../../core/words/action.ts'
import { formatDistance, formatDuration, formatInstant, lateOrEarly } from '../../core/words/time.ts'
import { titleOf } from './find-task.ts'
import { cut, facts, table } from './printed.ts'
import { machineZone } from './schedule-flags.ts'
import type { Server } from './server.ts'
import { markOf, stateWords } from './state-words.ts'

const NAME_WIDTH = 40
const SCHEDULE_WIDTH = 48
const NEXT_SHOWN = 3

const HEADINGS = ['NAME', 'STATE', 'SCHEDULE', 'NEXT', 'LAST', 'ID']

export function taskTable(tasks: readonly Task[], now: number): string {
  return table(
    HEADINGS,
    tasks.map((task) => [
      cut(titleOf(task), NAME_WIDTH),
      stateWords(task.state),
      cut(printable(task.scheduleInWords ?? ''), SCHEDULE_WIDTH),
      nextWords(task, now),
      lastWords(task, now),
      task.id,
    ]),
  )
}

/** Formats an instant as `Tue 17 Nov, 02:30 Berlin · in 7 h 12 m`, in the task's own time zone. */
export function instantWords(at: string, zone: string | null, now: number): string {
  const ms = Date.parse(at)
  return `${formatInstant(ms, zone ?? machineZone(), { now })} · ${formatDistance(ms, now)}`
}

function nextWords(task: Task, now: number): string {
  if (task.nextFireAt === null) return task.state === 'scheduled' ? 'when triggered' : '–'
  return instantWords(task.nextFireAt, task.timezone, now)
}

function lastWords({ recent }: Task, now: number): string {
  const last = recent?.[0]
  if (!last) return '○ no runs yet'
  return `${markOf(last.state)} ${formatDistance(Date.parse(last.endedAt), now)}`
}

export function taskText(task: Task, server: Server): string {
  const now = server.now()
  const pairs: [string, string][] = [
    ['id', task.id],
    ...optional('key', task.key),
    ['does', printable(actionWords(task.action as Action))],
    ['when', printable(task.scheduleInWords ?? '')],
    ...nextPairs(task, now),
    ...lastPairs(task, now),
    ['retries', `${task.retry.limit}, from ${task.retry.initial} up to ${task.retry.max}`],
    ['timeout', task.timeout],
    ['overlap', task.overlap],
    ['misfire', `${task.misfire.policy}, within ${task.misfire.window}`],
    ['queue', `${task.queue}, priority ${task.priority}`],
    ...optional('owner', task.owner),
    ...optional('tags', task.tags.join(', ')),
    ['page', `${server.url}/tasks/${task.id}`],
  ]
  return `${titleOf(task)}  ${stateWords(task.state)}  version ${task.version}\n${facts(pairs)}`
}

function optional(name: string, value: string | null): [string, string][] {
  return value === null || value === '' ? [] : [[name, printable(value)]]
}

export function nextPairs(task: Task, now: number): [string, string][] {
  if (task.state === 'paused' && task.pausedAt !== null)
    return [['paused', instantWords(task.pausedAt, task.timezone, now)]]
  const next = task.next ?? []
  if (next.length === 0) return task.state === 'scheduled' ? [['next', 'when triggered']] : []
  return [
    [
      'next',
      next
        .slice(0, NEXT_SHOWN)
        .map(({ at }) => instantWords(at, task.timezone, now))
        .join('\n'),
    ],
  ]
}

function lastPairs({ recent = [], timezone }: Task, now: number): [string, string][] {
  const last = recent[0]
  if (!last) return [['last', '○ no runs yet']]
  const took = last.durationMs === null ? '' : `, took ${formatDuration(last.durationMs)}`
  const late = last.latenessMs === null ? '' : `, ${lateOrEarly(last.latenessMs)}`
  return [
    [
      'last',
      `${stateWords(last.state, last.reason)}${took}${late}, ${instantWords(last.scheduledFor, timezone, now)}`,
    ],
  ]
}
