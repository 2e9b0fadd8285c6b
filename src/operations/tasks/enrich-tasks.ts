/** What tasks can be shown with besides themselves: how their latest runs went, and when they are due next. */

import { presentTask, utc } from '../../api/present.ts'
import { type Includable, NEXT_SHOWN, RECENT_SHOWN, type Task } from '../../api/resources/tasks/schemas.ts'
import { describeSchedule } from '../../core/schedule/describe.ts'
import { localTime } from '../../core/schedule/local-time.ts'
import { nextOccurrence } from '../../core/schedule/occurrences.ts'
import { timezoneOf } from '../../core/schedule/schedule.ts'
import { planOf } from '../../core/task/task.ts'
import { type RecentRun, recentRuns } from '../../store/history/runs.ts'
import type { TaskRow } from '../../store/tasks/tasks.ts'
import type { Context } from '../context.ts'

/** For how long working out instants may keep the process from doing anything else; later tasks get fewer. */
const MAX_WORKING_MS = 25

/** Tasks as they are shown, with what was asked for: one statement more for all of them, whatever it is. */
export async function presentTasks(
  { db }: Context,
  rows: readonly TaskRow[],
  include: readonly Includable[] = [],
): Promise<Task[]> {
  const recent = new Map<string, readonly RecentRun[]>()
  if (include.includes('recent') && rows.length > 0) {
    const statement = recentRuns({ taskIds: rows.map(({ id }) => id), limit: RECENT_SHOWN })
    const found = await db.snapshot((tx) => tx.run(statement), { inOrder: true })
    for (const { taskId, runs } of found) recent.set(taskId, runs)
  }
  const deadline = performance.now() + MAX_WORKING_MS
  return rows.map((row) => ({
    ...presentTask(row),
    ...(include.includes('recent') ? { recent: (recent.get(row.id) ?? []).map(presentRecent) } : {}),
    ...(include.includes('next') ? nextOf(row, deadline) : {}),
  }))
}

function presentRecent({
  lateMs,
  startedAt,
  endedAt,
  ...run
}: RecentRun): NonNullable<Task['recent']>[number] {
  return {
    ...run,
    scheduledFor: utc(run.scheduledFor),
    startedAt: startedAt === null ? null : utc(startedAt),
    endedAt: utc(endedAt),
    latenessMs: lateMs,
    durationMs: startedAt === null ? null : Math.max(0, endedAt - startedAt),
  }
}

function nextOf({ definition, nextAt }: TaskRow, deadline: number): Pick<Task, 'next' | 'scheduleInWords'> {
  const { schedule } = definition
  const zone = timezoneOf(schedule) ?? 'UTC'
  const plan = planOf(definition)
  const instants: number[] = []
  for (let at = nextAt; at !== null && instants.length < NEXT_SHOWN; at = nextOccurrence(plan, at)) {
    instants.push(at)
    if (performance.now() > deadline) break
  }
  return {
    next: instants.map((at) => ({ at: utc(at), local: localTime(at, zone) })),
    scheduleInWords: describeSchedule(schedule, definition.seed),
  }
}
