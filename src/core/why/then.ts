/**
 * Why a task was not running at an instant in the past. Pure: it uses what history, versions and pauses record about that
 * instant. What is not recorded (which worker had a free slot, whether a queue was full) is not guessed.
 */
import { expectedBetween } from '../ledger/expected.ts'
import { roughly } from '../words/time.ts'
import { openThen, sinceUntil } from './open-then.ts'
import { skippedThen } from './skipped-then.ts'
import { type ThenCase, wasOpen } from './then-case.ts'
import { because, instant, type Why } from './why.ts'

export function whyThen(it: ThenCase): Why[] {
  const { at, createdAt, historyFrom, endedAt } = it
  if (at < createdAt)
    return [
      {
        code: 'not_created',
        sentence: `The task did not exist yet: it was created at ${instant(createdAt)}.`,
        facts: { since: createdAt },
        advice: null,
      },
    ]
  const open = it.runs.find((run) => wasOpen(run, at))
  if (open) return openThen(it, open)
  if (at < historyFrom)
    return [
      {
        code: 'before_history',
        sentence: `The history of that time was deleted; it begins at ${instant(historyFrom)}.`,
        facts: { since: historyFrom },
        advice:
          'To keep history longer: belfry project edit --keep-history 90d, or a larger --history-days on all nodes',
      },
    ]
  if (endedAt !== null && at >= endedAt)
    return [
      {
        code: 'cancelled',
        sentence: `The task was cancelled at ${instant(endedAt)}.`,
        facts: { since: endedAt },
        advice: null,
      },
    ]
  const causes = [...pausedThen(it), ...skippedThen(it)]
  const known = causes.some(({ code }) => code === 'blackout')
  return [...(causes.length > 0 ? causes : [betweenRuns(it)]), ...(known ? [] : blackoutThen(it))]
}

function pausedThen({ pause, taskId }: ThenCase): Why[] {
  if (!pause) return []
  const until = pause.resumedAt === null ? ' and is still paused' : ` until ${instant(pause.resumedAt)}`
  return [
    {
      code: 'paused',
      sentence: `The task was paused at ${instant(pause.pausedAt)}${until}${because(pause.reason)}.`,
      facts: {
        ...sinceUntil(pause.pausedAt, pause.resumedAt),
        ...(pause.reason === null ? {} : { reason: pause.reason }),
      },
      advice: pause.resumedAt === null ? `To resume it: belfry task resume ${taskId}` : null,
    },
  ]
}

function blackoutThen({ blackout }: ThenCase): Why[] {
  if (!blackout) return []
  const { name, until } = blackout
  return [
    {
      code: 'blackout',
      sentence: `The blackout ${name} was in force until ${instant(until)}; no schedule fired.`,
      facts: { name, until },
      advice: null,
    },
  ]
}

/** Far enough to find the next instant of any schedule that has one. */
const HORIZON_MS = 10 * 366 * 86_400_000

/** The cause if the task was idle: the previous run had ended, and the next one was not due. */
function betweenRuns(it: ThenCase): Why {
  const { at, runs } = it
  const [latest] = runs
  const { items } = expectedBetween(it, { from: at + 1, to: at + HORIZON_MS, limit: 1 })
  const [next] = items
  const before = latest
    ? ` Run ${latest.runId} had ended ${roughly(at - (latest.endedAt ?? at))} earlier.`
    : ''
  const facts = latest ? { runId: latest.runId, runState: latest.state } : {}
  if (next)
    return {
      code: 'not_due',
      sentence: `The task was not due; the next occurrence was at ${instant(next.at)}.${before}`,
      facts: { ...facts, nextAt: next.at },
      advice: null,
    }
  const isByTime = it.versions.some(
    ({ definition }) => !['delay', 'manual'].includes(definition.schedule.type),
  )
  return {
    code: isByTime ? 'finished' : 'not_due',
    sentence: `The task had no further occurrences at that time.${before}`,
    facts,
    advice: null,
  }
}
