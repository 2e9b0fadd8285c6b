/** Optional additions to tasks: the results of their latest runs, and their next instants. */
import { describeSchedule } from '../../core/schedule/describe.ts'
import { nextOccurrence } from '../../core/schedule/occurrences.ts'
import { planOf } from '../../core/task/task.ts'
import { type RecentRun, recentRuns } from '../../store/history/runs.ts'
import type { TaskRow } from '../../store/tasks/tasks.ts'
import type { Context } from '../context.ts'

/** Number of latest runs, and of next instants, that a task is read with. */
export const RECENT_SHOWN = 20
export const NEXT_SHOWN = 5

/** Parts that cost a little more to find out. */
export type Includable = 'recent' | 'next'

/** A task with the requested parts. */
export interface EnrichedTask {
  readonly row: TaskRow
  /** The latest runs that have ended, ordered by due instant, latest first. */
  readonly recent?: readonly RecentRun[]
  /** The next instants at which it is due. */
  readonly next?: readonly number[]
  readonly scheduleInWords?: string
}

/** Computing instants may block the process for this long; after that, tasks get fewer. */
const MAX_WORKING_MS = 25

/** Returns tasks with the requested parts; one more statement reads them for all tasks. */
export async function enrichTasks(
  { db }: Context,
  rows: readonly TaskRow[],
  include: readonly Includable[] = [],
): Promise<EnrichedTask[]> {
  const recent = new Map<string, readonly RecentRun[]>()
  if (include.includes('recent') && rows.length > 0) {
    const statement = recentRuns({ taskIds: rows.map(({ id }) => id), limit: RECENT_SHOWN })
    const found = await db.snapshot((tx) => tx.run(statement), { inOrder: true })
    for (const { taskId, runs } of found) recent.set(taskId, runs)
  }
  const deadline = performance.now() + MAX_WORKING_MS
  return rows.map((row) => ({
    row,
    ...(include.includes('recent') ? { recent: recent.get(row.id) ?? [] } : {}),
    ...(include.includes('next') ? nextOf(row, deadline) : {}),
  }))
}

function nextOf({ definition, nextAt }: TaskRow, deadline: number) {
  const plan = planOf(definition)
  const next: number[] = []
  for (let at = nextAt; at !== null && next.length < NEXT_SHOWN; at = nextOccurrence(plan, at)) {
    next.push(at)
    if (performance.now() > deadline) break
  }
  return { next, scheduleInWords: describeSchedule(definition.schedule, definition.seed) }
}
