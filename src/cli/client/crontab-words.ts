/** The interpretation of a crontab, printed for review before tasks are created from it. */

import type { ExecAction } from '../../core/action/action.ts'
import type { ImportedTask, ImportNote, LeftOut } from '../../core/crontab/crontab-task.ts'
import type { LineProblem } from '../../core/crontab/parse-crontab.ts'
import { printable } from '../../core/values/printable.ts'
import { formatDistance, formatInstant } from '../../core/words/time.ts'
import { onStdout as c } from '../terminal.ts'
import { theLabels } from './label-words.ts'
import { counted, cut, table } from './printed.ts'

const NAME_WIDTH = 28
const WHEN_WIDTH = 44
const COMMAND_WIDTH = 48
const VALUE_WIDTH = 60
/** Maximum number of lines listed by number; further ones are only counted. */
const LINES_NAMED = 8

/** A job of the crontab, the task planned for it, and whether that task already exists. */
export interface PlannedTask {
  readonly line: number
  readonly change: 'create' | 'update' | 'none'
  readonly task: ImportedTask['input']
  readonly scheduleInWords: string
  /** The next occurrences, RFC 3339. */
  readonly next: readonly string[]
  readonly notes: readonly ImportNote[]
}

/** The result of interpreting a crontab. */
export interface CrontabPlan {
  readonly isSystem: boolean
  readonly timezone: string
  readonly prefix: string
  readonly tasks: readonly PlannedTask[]
  readonly leftOut: readonly LeftOut[]
  readonly problems: readonly LineProblem[]
  readonly commentedOut: readonly number[]
  /** Sentences about what workers currently lack to run the jobs. */
  readonly missing: readonly string[]
  /** Tasks of an earlier import whose lines are gone. */
  readonly noLongerThere: readonly {
    readonly id: string
    readonly key: string | null
    readonly name: string | null
  }[]
}

const CHANGES = { create: 'new', update: 'changed', none: 'unchanged' } as const

/** Further inputs of the text. */
export interface PlanStyle {
  readonly now: number
  /** Whether the time zone is this machine's because none was given. */
  readonly isZoneAssumed: boolean
}

export function planText(plan: CrontabPlan, { now, isZoneAssumed }: PlanStyle): string {
  const { tasks, leftOut, problems, commentedOut, noLongerThere } = plan
  const kind = plan.isSystem ? 'system crontab with a user column' : 'crontab of one user'
  const zone = `${plan.timezone}${isZoneAssumed ? ', the time zone of this machine; to change it: --timezone' : ''}`
  return [
    `${counted(tasks.length + leftOut.length, 'job')} in a ${kind}. Times without CRON_TZ are in ${zone}\n`,
    tasks.length === 0 ? '' : `\n${taskTable(tasks, now)}`,
    tasks.length === 0 ? '' : behaviourText(tasks),
    ...plan.missing.map((text) => `${c.yellow('!')} ${printable(text)}\n`),
    section(
      'Not imported',
      leftOut.map(({ line, text, reason }) => [[line], `${text}\n${reason}`]),
    ),
    section('Environment', byText(tasks, variablesOf)),
    section(
      'Different from cron',
      byText(tasks, ({ notes }) => notes.map(({ note }) => note)),
    ),
    commentedOut.length === 0 ? '' : `\nCommented out: ${lineWords(commentedOut)}\n`,
    section(
      'Errors',
      problems.map(({ line, text, detail }) => [[line], `${text}\n${detail}`]),
    ),
    noLongerThere.length === 0
      ? ''
      : `\n${c.bold('No longer in the crontab')}; to delete one: belfry task delete KEY\n${noLongerThere
          .map(({ key, name }) => `  ${printable(key ?? '')}  ${printable(name ?? '')}\n`)
          .join('')}`,
    '\n',
  ].join('')
}

function taskTable(tasks: readonly PlannedTask[], now: number): string {
  return table(
    ['LINE', 'TASK', 'NAME', 'WHEN', 'NEXT', 'COMMAND'],
    tasks.map(({ line, change, task, scheduleInWords, next: [first] }) => [
      String(line),
      CHANGES[change],
      cut(printable(task.name ?? ''), NAME_WIDTH),
      cut(printable(scheduleInWords), WHEN_WIDTH),
      first === undefined ? '–' : nextWords(Date.parse(first), task.schedule.timezone, now),
      cut(printable(commandOf(task)), COMMAND_WIDTH),
    ]),
  )
}

const nextWords = (at: number, zone: string, now: number) =>
  `${formatInstant(at, zone, { now })} · ${formatDistance(at, now)}`

const execOf = (action: PlannedTask['task']['action']) => action as ExecAction
const commandOf = ({ action }: PlannedTask['task']): string => execOf(action).args?.[1] ?? ''

/** Describes the behaviour common to all jobs, which the crontab does not state. */
function behaviourText(tasks: readonly PlannedTask[]): string {
  const [first] = tasks
  if (first === undefined) return ''
  const { retry, timeout, labels = [] } = first.task
  const shells = [...new Set(tasks.map(({ task }) => execOf(task.action).command ?? ''))]
  const retries = retry?.limit === 0 ? 'no retries' : counted(Number(retry?.limit), 'retry', 'retries')
  const where =
    labels.length === 0 ? 'any worker that allows it' : `workers with ${theLabels(labels)} that allow it`
  return [
    `\nEach job runs as ${shells.map((shell) => `${shell} -c COMMAND`).join(' or ')}, on ${where}.\n`,
    `As under cron: ${retries}, runs may overlap, missed occurrences are skipped. Timeout ${timeout}.\n`,
  ].join('')
}

type Said = readonly [lines: readonly number[], text: string]

/** Groups lines with the same text, so that each text is printed once. */
function byText(tasks: readonly PlannedTask[], textsOf: (task: PlannedTask) => readonly string[]): Said[] {
  const lines = new Map<string, number[]>()
  for (const task of tasks)
    for (const text of textsOf(task)) lines.set(text, [...(lines.get(text) ?? []), task.line])
  return [...lines].map(([text, at]) => [at, text])
}

/** Returns the variables of a command; values that look like secrets are masked. */
function variablesOf({ task: { action }, notes }: PlannedTask): string[] {
  const secret = notes.flatMap(({ about, note }) => (about === 'secret' ? (note.split(' ')[0] ?? '') : []))
  return Object.entries(execOf(action).env ?? {}).map(([name, value]) =>
    secret.includes(name) ? `${name}=…` : `${name}=${cut(value, VALUE_WIDTH)}`,
  )
}

function section(heading: string, items: readonly Said[]): string {
  if (items.length === 0) return ''
  const rows = items.map(([lines, text]) => {
    const [first = '', ...rest] = text.split('\n')
    return [`  ${lineWords(lines)}: ${printable(first)}`, ...rest.map((line) => `    ${printable(line)}`)]
  })
  return `\n${c.bold(heading)}\n${rows.flat().join('\n')}\n`
}

/** `line 3`, or `lines 3, 5 and 9`. */
function lineWords(lines: readonly number[]): string {
  if (lines.length === 1) return `line ${lines[0]}`
  const more = lines.length - LINES_NAMED
  const named = more > 0 ? lines.slice(0, LINES_NAMED) : lines.slice(0, -1)
  return `lines ${named.join(', ')} and ${more > 0 ? `${more} more` : lines.at(-1)}`
}
