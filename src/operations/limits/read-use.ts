/** Reads how much of its limits a project uses. Only what is limited is counted. */
import type { ProjectLimits } from '../../core/limits/limits.ts'
import { ratePolicy } from '../../core/limits/rate-policy.ts'
import { ShortMemory } from '../../runtime/short-memory.ts'
import type { Database } from '../../store/database/database.ts'
import { countUse, type Use } from '../../store/limits/project-use.ts'
import { aheadOf } from '../../store/limits/request-quotas.ts'
import { readProjectGate } from '../../store/queues/project-gates.ts'
import type { Context } from '../context.ts'
import { limitsStorage } from './admit-tasks.ts'

/** Usage by limit; null if there is no such limit. */
export interface ProjectUse {
  readonly tasks: number | null
  readonly storedBytes: number | null
  readonly requests: number | null
  readonly running: number | null
}

/** Counting reads all live runs, so the counts are cached for this long. */
const COUNTED_FOR_MS = 2_000
const MAX_PROJECTS = 1_000
const counts = new WeakMap<Database, ShortMemory<Use | undefined>>()

export async function readUse(context: Context, limits: ProjectLimits): Promise<ProjectUse> {
  const use = limitsStorage(limits) ? await counted(context, limits) : undefined
  return {
    tasks: limits.maxTasks === null || !use ? null : Number(use.tasks),
    storedBytes: limits.maxStoredBytes === null || !use ? null : Number(use.bytes),
    requests: limits.requestRate === null ? null : await requestsUsed(context, limits.requestRate),
    running: limits.maxRunning === null ? null : await running(context),
  }
}

async function counted(
  { db, projectId }: Context,
  { maxStoredBytes }: ProjectLimits,
): Promise<Use | undefined> {
  const memory = counts.get(db) ?? new ShortMemory({ freshMs: COUNTED_FOR_MS, max: MAX_PROJECTS })
  counts.set(db, memory)
  const withBytes = maxStoredBytes !== null
  return memory.get(
    `${projectId} ${withBytes}`,
    async () => (await db.run(countUse(projectId, withBytes)))[0],
  )
}

async function running({ db, projectId }: Context): Promise<number> {
  const [gate] = await db.run(readProjectGate(projectId))
  return gate?.running ?? 0
}

async function requestsUsed({ db, projectId }: Context, rate: string): Promise<number> {
  const { gapMs, burst } = ratePolicy(rate)
  const [quota] = await db.run(aheadOf(projectId))
  return Math.max(0, Math.min(burst, Math.round((quota?.aheadMs ?? 0) / gapMs)))
}
