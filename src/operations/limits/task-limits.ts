/** The limits that tasks are created within: those of the project, and those of the key that creates them. */
import { Refusal } from '../../core/errors.ts'
import type { KeyLimits, ProjectLimits } from '../../core/limits/limits.ts'
import { paceOf } from '../../core/schedule/pace.ts'
import { triggersOf } from '../../core/schedule/schedule.ts'
import { MIN_INTERVAL_MS } from '../../core/schedule/validate-schedule.ts'
import { planOf, type TaskDefinition } from '../../core/task/task.ts'
import { formatDuration } from '../../core/values/duration.ts'
import { ShortMemory } from '../../runtime/short-memory.ts'
import type { Database } from '../../store/database/database.ts'
import { readProject } from '../../store/projects/projects.ts'
import { storedForm } from '../../store/tasks/stored-definition.ts'
import type { Context } from '../context.ts'

/** The limits for the tasks that a caller creates. */
export interface TaskLimits {
  readonly project: ProjectLimits
  /** Null if the caller is not a key, or is a key without limits. */
  readonly key: KeyLimits | null
}

/**
 * Limits are read for each task that is created, so they are cached. A change made on another node takes effect here within
 * this time.
 */
const FRESH_MS = 1_000
const MAX_PROJECTS_KNOWN = 10_000

const known = new WeakMap<Database, ShortMemory<ProjectLimits>>()

/** Returns the limits of the project, at most a second old, and those of the key. */
export async function limitsOf({ db, projectId, limits, reach }: Context): Promise<TaskLimits> {
  const memory = known.get(db) ?? new ShortMemory({ freshMs: FRESH_MS, max: MAX_PROJECTS_KNOWN })
  known.set(db, memory)
  const project = await memory.get(projectId, async () => {
    const [row] = await db.run(readProject(projectId))
    if (!row) throw new Refusal('not_found', `Project ${projectId} does not exist.`)
    return withDefaults(row, limits)
  })
  return { project, key: reach.limits }
}

/** Fills in the limits that a project does not set with those that the node was started with. */
export const withDefaults = <P extends ProjectLimits>(project: P, defaults: Context['limits']): P => ({
  ...project,
  minPeriodMs: project.minPeriodMs ?? defaults.minPeriodMs,
  maxAheadMs: project.maxAheadMs ?? defaults.maxAheadMs,
})

/** Drops the cached limits, after the limits of a project were changed on this node. */
export const forgetLimits = (db: Database): void => known.get(db)?.forget()

/**
 * Rejects a definition that is due more often or further ahead, or is larger, than its project or the key allows. If an edit
 * does not change when the task is due, its schedule is not checked again.
 */
export function keepLimits(
  definition: TaskDefinition,
  { project, key }: TaskLimits,
  { now, isRetimed = true }: { readonly now: number; readonly isRetimed?: boolean },
): void {
  for (const [whose, limits] of [['project', project] as const, ['key', key] as const]) {
    if (limits === null) continue
    if (isRetimed) keepPace(definition, limits, { now, whose })
    keepSize(definition, limits, whose)
  }
}

/** Whose limit it is. */
type Whose = 'project' | 'key'
const OWNERS: { readonly [W in Whose]: string } = { project: 'the project', key: 'the API key' }

/** Rejects a definition whose stored form is too long. */
function keepSize(
  definition: TaskDefinition,
  { maxPayloadBytes }: Pick<KeyLimits, 'maxPayloadBytes'>,
  whose: Whose,
): void {
  if (maxPayloadBytes === null) return
  const bytes = bytesOf(definition)
  if (bytes <= maxPayloadBytes) return
  const allowed = `definitions of at most ${maxPayloadBytes} bytes`
  throw beyond('', `has a definition of ${bytes} bytes`, { whose, allowed, limit: { maxPayloadBytes } })
}

/** Returns the uncompressed size of a definition in the database, in bytes. */
export const bytesOf = (definition: TaskDefinition): number => Buffer.byteLength(storedForm(definition))

function keepPace(
  definition: TaskDefinition,
  limits: Pick<KeyLimits, 'minPeriodMs' | 'maxAheadMs'>,
  { now, whose }: { now: number; whose: Whose },
): void {
  const { minPeriodMs, maxAheadMs } = limits
  const { schedule } = definition
  if (schedule.type === 'manual' || !isLimited(definition, limits)) return
  const plan = planOf(definition)
  const { shortestMs, longestMs, first } = paceOf(plan, now)
  const place = 'interval' in schedule ? '/schedule/interval' : '/schedule'
  const least = minPeriodMs ?? MIN_INTERVAL_MS
  if (shortestMs !== null && shortestMs < least) {
    const minPeriod = formatDuration(least)
    const allowed = `at most one occurrence every ${minPeriod}`
    throw beyond(place, `is due every ${formatDuration(shortestMs)}`, {
      whose,
      allowed,
      limit: { minPeriod },
    })
  }
  if (maxAheadMs === null) return
  const maxAhead = formatDuration(maxAheadMs)
  const far = { whose, allowed: `occurrences at most ${maxAhead} ahead`, limit: { maxAhead } }
  if (longestMs !== null && longestMs > maxAheadMs)
    throw beyond(place, `is due ${formatDuration(longestMs)} apart`, far)
  const distance = first === null ? 0 : first - now
  const at =
    schedule.type === 'once' ? '/schedule/at' : definition.startAt === null ? '/schedule' : '/startAt'
  if (distance > maxAheadMs) throw beyond(at, `is first due in ${formatDuration(distance)}`, far)
}

/** Returns whether the schedule needs to be checked: a single wall-clock trigger is never due twice in a second. */
function isLimited(
  { schedule }: TaskDefinition,
  { minPeriodMs, maxAheadMs }: Pick<KeyLimits, 'minPeriodMs' | 'maxAheadMs'>,
): boolean {
  const isPlain = triggersOf(schedule).length < 2 && schedule.type !== 'dates'
  return maxAheadMs !== null || !isPlain || (minPeriodMs !== null && minPeriodMs > MIN_INTERVAL_MS)
}

interface Exceeded {
  readonly whose: Whose
  readonly allowed: string
  readonly limit: Readonly<Record<string, string | number>>
}

function beyond(pointer: string, is: string, { whose, allowed, limit }: Exceeded): Refusal {
  const [name = ''] = Object.keys(limit)
  const detail = `${is}; ${OWNERS[whose]} allows ${allowed} (limits.${name})`
  return new Refusal('beyond_limits', `${pointer === '' ? 'The task' : pointer} ${detail}.`, {
    problems: [{ pointer, detail }],
    extra: { limit, limitOf: whose },
  })
}
