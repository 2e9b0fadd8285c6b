/** Why the latest occurrence before an instant in the past did not run. Pure. */
import { recordedCauses } from './recorded.ts'
import { GIVEN_UP, type PastRun, type ThenCase } from './then-case.ts'
import { instant, type Why, type WhyCode } from './why.ts'

const SKIPPED: Readonly<Record<string, { code: WhyCode; why: string; advice: string | null }>> = {
  overlap: {
    code: 'overlap',
    why: 'another run of the task was active',
    advice:
      'With the overlap policy "allow", runs start in parallel; with "queue_one" or "queue_all" they wait.',
  },
  overlap_limit: {
    code: 'overlap',
    why: 'another run was active, and the maximum number of runs was already waiting',
    advice: 'The runs take longer than the interval between them.',
  },
  misfire: {
    code: 'misfire',
    why: 'no scheduler was running when it came due, and the misfire policy does not run it',
    advice: 'The misfire policy "run_all" runs every missed occurrence; "run_once" runs the latest one.',
  },
  paused: { code: 'paused', why: 'the task was paused', advice: null },
  file_missing: {
    code: 'file_missing',
    why: 'a file that the task needs had not been uploaded',
    advice: null,
  },
  skip_next: { code: 'skip_next', why: 'a user requested to skip it', advice: null },
  blackout: { code: 'blackout', why: 'a blackout was in force', advice: null },
  edited: { code: 'edited', why: 'an edit changed the schedule before it was fired', advice: null },
  cancelled: { code: 'cancelled', why: 'the task was cancelled before it was fired', advice: null },
  bounds: { code: 'bounds', why: 'an edit lowered maxRuns below it', advice: null },
  lost: {
    code: 'lost',
    why: 'its row was missing when it came due',
    advice: 'The audit restored the row; GET /v1/findings shows when.',
  },
  [GIVEN_UP]: {
    code: 'waited',
    why: 'it waited for a worker for longer than its queueTimeout',
    advice: 'Start more workers, or set a longer queueTimeout.',
  },
}

/** The causes if the latest occurrence did not run. */
export function skippedThen(it: ThenCase): Why[] {
  const { taskId, runs, at, pause, blackout, recorded } = it
  const [latest] = runs.filter(({ kind }) => kind !== 'manual')
  if (!latest || latest.reason === null) return []
  const known = SKIPPED[latest.reason]
  if (!known || (known.code === 'paused' && pause)) return []
  const until = latest.coversUntil ?? latest.scheduledFor
  const due = Math.min(until, at)
  const what =
    until > latest.scheduledFor
      ? `The occurrences from ${instant(latest.scheduledFor)} to ${instant(until)}`
      : `The occurrence at ${instant(latest.scheduledFor)}`
  const holder = known.code === 'overlap' ? runs.find((run) => wasOpenAt(run, latest)) : undefined
  const waiter = {
    taskId,
    who: `${what} waited for longer than its queueTimeout`,
    facts: { runId: latest.runId, runState: latest.state, scheduledFor: due, reason: latest.reason },
  }
  return [
    ...(latest.reason === GIVEN_UP ? recordedCauses(recorded, waiter) : []),
    {
      code: known.code,
      sentence: `${what} ${until > latest.scheduledFor ? 'were' : 'was'} ${latest.state === 'skipped' ? 'skipped' : 'recorded as failed'}: ${known.why}${holder ? ` (run ${holder.runId})` : ''}.`,
      facts: {
        runId: holder?.runId ?? latest.runId,
        runState: holder?.state ?? latest.state,
        scheduledFor: due,
        reason: latest.reason,
        ...(known.code === 'blackout' && blackout ? { name: blackout.name } : {}),
        ...(until > latest.scheduledFor ? { since: latest.scheduledFor, until } : {}),
      },
      advice: known.advice,
    },
  ]
}

/** Whether a run was active when another one was skipped. */
const wasOpenAt = (run: PastRun, skip: PastRun): boolean =>
  run.runId !== skip.runId &&
  run.reason === null &&
  (run.endedAt === null || run.endedAt >= (skip.endedAt ?? skip.scheduledFor) - WRITTEN_MS)

/** Tolerance, because an end is recorded shortly after it happened. */
const WRITTEN_MS = 1_000
