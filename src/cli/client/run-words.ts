/** Formats runs for the terminal: a line in a list, or all details. */
import type { z } from 'zod'
import type {
  Attempt,
  Run,
  RunWithAttempts as RunWithAttemptsSchema,
} from '../../api/resources/runs/schemas.ts'
import { printable, printableLines } from '../../core/values/printable.ts'
import { outcomeWords } from '../../core/words/outcome.ts'
import { formatDistance, formatDuration, formatInstant, formatLateness } from '../../core/words/time.ts'
import { cut, facts, table } from './printed.ts'
import { machineZone } from './schedule-flags.ts'
import type { Server } from './server.ts'
import { stateWords } from './state-words.ts'

export type RunWithAttempts = z.output<typeof RunWithAttemptsSchema>

const NAME_WIDTH = 40
const OUTCOME_WIDTH = 60
/** Maximum length of an output or error, a few screens; `--json` prints all of it. */
const MAX_OUTPUT_CHARACTERS = 8_000

const HEADINGS = ['TASK', 'STATE', 'DUE', 'LATE', 'TOOK', 'OUTCOME', 'ID']

export function runTable(runs: readonly Run[], now: number): string {
  return table(
    HEADINGS,
    runs.map((run) => [
      cut(printable(run.taskName ?? run.taskId), NAME_WIDTH),
      stateWords(run.state, run.reason),
      formatInstant(Date.parse(run.scheduledFor), machineZone(), { now, precision: 'second' }),
      run.latenessMs === null ? '–' : formatLateness(run.latenessMs),
      tookWords(run),
      cut(printable(outcomeWords(run)), OUTCOME_WIDTH),
      run.id,
    ]),
  )
}

export function tookWords({
  startedAt,
  endedAt,
}: {
  startedAt: string | null
  endedAt: string | null
}): string {
  if (startedAt === null || endedAt === null) return '–'
  return formatDuration(Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)))
}

export function runText(run: RunWithAttempts, server: Server): string {
  const now = server.now()
  const instant = (at: string) =>
    formatInstant(Date.parse(at), machineZone(), { now, precision: 'millisecond' })
  const pairs: [string, string][] = [
    ['id', run.id],
    [
      'task',
      `${run.taskName === null ? '' : `${printable(run.taskName)}  `}${run.taskId}, version ${run.version}`,
    ],
    ['due', instant(run.scheduledFor)],
    ...(run.latenessMs === null ? [] : [['late', formatLateness(run.latenessMs)] as [string, string]]),
    ...(run.endedAt === null ? [] : [['ended', instant(run.endedAt)] as [string, string]]),
    ...(run.retryAt === null
      ? []
      : [['again', formatDistance(Date.parse(run.retryAt), now)] as [string, string]]),
    ['page', `${server.url}/runs/${run.id}`],
  ]
  const attempts = run.attempts.map((attempt) => attemptText(attempt, instant)).join('')
  return `run  ${stateWords(run.state, run.reason)}\n${facts(pairs)}${attempts}`
}

function attemptText(attempt: Attempt, instant: (at: string) => string): string {
  const pairs: [string, string][] = [
    ...(attempt.startedAt === null ? [] : [['began', instant(attempt.startedAt)] as [string, string]]),
    ['took', tookWords(attempt)],
    ...(attempt.error === null ? [] : [['error', shown(attempt.error)] as [string, string]]),
    ...(attempt.output === null ? [] : [['output', shown(attempt.output)] as [string, string]]),
  ]
  return `\nattempt ${attempt.number}  ${stateWords(attempt.outcome)}  ${printable(outcomeWords(attempt))}\n${facts(pairs)}`
}

/** Formats text unchanged and everything else as JSON, up to the maximum length. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  const rest = text.length - MAX_OUTPUT_CHARACTERS
  const kept = printableLines(text.slice(0, MAX_OUTPUT_CHARACTERS))
  return rest > 0 ? `${kept}\n… ${rest} more characters; to see all: --json` : kept
}
