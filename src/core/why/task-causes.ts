/** Causes in the task itself: it has ended, is paused, is not due, or its next row is missing. Pure. */
import { roughly } from '../words/time.ts'
import { starting } from './active-causes.ts'
import { fileCauses } from './file-causes.ts'
import { nextOwed } from './next-owed.ts'
import type { LiveRun, NowCase } from './now-case.ts'
import { watcherCauses } from './watcher-causes.ts'
import { because, instant, type Why } from './why.ts'

/** A row that has been due for less than this is assumed to be starting. */
const STARTING_MS = 2_000

export function taskCauses(it: NowCase): Why[] {
  const { now, cancelledAt, pausedAt, pauseReason, resumeAt, definition } = it
  if (cancelledAt !== null)
    return [
      {
        code: 'cancelled',
        sentence: `The task was cancelled at ${instant(cancelledAt)}, which is final.`,
        facts: { since: cancelledAt },
        advice: 'Create a new task.',
      },
    ]
  if (it.files !== null && it.files.since !== null) return fileCauses(it.files)
  if (pausedAt !== null) {
    const until = resumeAt === null ? '' : `, until ${instant(resumeAt)}`
    return [
      {
        code: 'paused',
        sentence: `The task has been paused since ${instant(pausedAt)}${until}${because(pauseReason)}.`,
        facts: {
          since: pausedAt,
          ...(resumeAt === null ? {} : { until: resumeAt }),
          ...(pauseReason === null ? {} : { reason: pauseReason }),
        },
        advice: `To resume it: belfry task resume ${it.taskId}. To run it once without resuming: belfry task run ${it.taskId}`,
      },
    ]
  }
  const scheduled = it.live.filter(({ state, kind }) => state === 'scheduled' && kind !== 'resume')
  const [first] = scheduled.sort((a, b) => a.wakeAt - b.wakeAt)
  if (first) return [first.wakeAt > now ? notDue(it, first) : dueNow(it, first)]
  if (it.live.some(({ state }) => state !== 'scheduled')) return besideActive(it)
  if (definition.schedule.type === 'manual')
    return [
      {
        code: 'manual_only',
        sentence: 'The task has no schedule; it runs only when triggered.',
        facts: lastOf(it),
        advice: `To run it: belfry task run ${it.taskId}. To give it a schedule: belfry task edit ${it.taskId} --every 1h`,
      },
    ]
  return [withoutRow(it)]
}

/** While a run is active, a task with a fixed schedule must already have its next row; a chain gets it when the run ends. */
function besideActive(it: NowCase): Why[] {
  const { type } = it.definition.schedule
  if (type === 'delay' || type === 'manual' || type === 'once') return []
  const cause = withoutRow(it)
  return cause.code === 'next_row_lost' ? [cause] : []
}

function dueNow(it: NowCase, row: LiveRun): Why {
  const [unwatched] = watcherCauses(it)
  const facts = { runId: row.runId, scheduledFor: row.scheduledFor, since: row.wakeAt }
  if (unwatched)
    return { ...unwatched, facts: { ...unwatched.facts, ...facts, since: it.watcher.watchedUntil } }
  if (it.now - row.wakeAt < STARTING_MS) return starting(row)
  return {
    code: 'scheduler_behind',
    sentence: `The task has been due for ${roughly(it.now - row.wakeAt)}, and the scheduler of shard ${it.watcher.shard} has not processed it yet.`,
    facts: { ...facts, shard: it.watcher.shard },
    advice: 'If this persists, the scheduler is overloaded: start another node with the role scheduler.',
  }
}

function notDue(it: NowCase, row: LiveRun): Why {
  const isSkip = row.kind === 'skip'
  const plain = `The task is not due yet; the next occurrence is at ${instant(row.wakeAt)}, in ${roughly(row.wakeAt - it.now)}.`
  return {
    code: 'not_due',
    sentence: isSkip ? `${plain} It will be skipped, as requested.` : plain,
    facts: { nextAt: row.wakeAt, scheduledFor: row.scheduledFor, ...lastOf(it) },
    advice: `To run it now: belfry task run ${it.taskId}`,
  }
}

const lastOf = ({ last }: NowCase) => (last ? { runId: last.runId, runState: last.state } : {})

/** What the audit does about a missing row, and when. */
const repairOf = (type: string) =>
  type === 'once'
    ? 'The audit, which nodes with the role liveness run, checks 30 000 tasks per minute. It restores the row, or records the task as lost if its misfire policy or onWorkerLoss does not allow it to run. GET /v1/findings shows the result.'
    : 'The audit restores the row within a minute if a node with the role liveness is running. GET /v1/findings shows the result.'

/** The task has no live row: either it has no further occurrences, or its row was lost. */
function withoutRow(it: NowCase): Why {
  const owed = nextOwed(it)
  if (owed.isOver)
    return {
      code: 'finished',
      sentence: `The task is finished: ${owed.why}.`,
      facts: { ...lastOf(it), ...(it.last ? { since: it.last.endedAt } : {}) },
      advice: `To run it again: belfry task run ${it.taskId}. Or change its schedule so that it has upcoming occurrences.`,
    }
  return {
    code: 'next_row_lost',
    sentence: `The row of the next occurrence is missing; it was due at ${instant(owed.at)}.`,
    facts: { nextAt: owed.at, ...lastOf(it) },
    advice: repairOf(it.definition.schedule.type),
  }
}
