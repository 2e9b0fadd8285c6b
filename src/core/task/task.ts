/**
 * A task: what to do and when. The definition contains the user's decisions and every default, so that a later release with
 * other defaults does not change existing tasks.
 */
import type { Action, LargeAction } from '../action/action.ts'
import type { RetryPolicy } from '../policy/retry-policy.ts'
import { parseInstant } from '../schedule/instant.ts'
import type { Plan } from '../schedule/schedule.ts'
import { parseDuration } from '../values/duration.ts'
import type { ValueOf } from './field-kinds.ts'
import type { FieldName, TaskFields } from './fields.ts'

/**
 * scheduled → pending → running → scheduled … finished. Users pause and cancel tasks; a task that waits for files is also
 * paused.
 */
export const TASK_STATES = ['scheduled', 'pending', 'running', 'paused', 'finished', 'cancelled'] as const
export type TaskState = (typeof TASK_STATES)[number]

/** What to do when an occurrence comes due while a run of the same task is active. */
export const OVERLAP_POLICIES = ['skip', 'allow', 'queue_one', 'queue_all', 'cancel_previous'] as const
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number]

/** What to do with occurrences that came due while no scheduler was running. */
export const MISFIRE_POLICIES = ['run_once', 'run_all', 'skip', 'fail'] as const
export type MisfirePolicy = (typeof MISFIRE_POLICIES)[number]

/** What to do with a run whose worker died: `retry` runs it at least once, `count` uses up a retry, `fail` runs it at most once. */
export const WORKER_LOSS_POLICIES = ['retry', 'count', 'fail'] as const
export type WorkerLossPolicy = (typeof WORKER_LOSS_POLICIES)[number]

/** The fields of a task that are stored in its definition. */
export type DefinedFields = {
  readonly [Name in FieldName as TaskFields[Name] extends { readonly keptIn: 'column' }
    ? never
    : Name]: ValueOf<TaskFields[Name]>
}

/**
 * Everything that a user decided about a task, and data that belongs to it. It is stored as a whole, once for each version, in
 * the form that users wrote: instants as RFC 3339, durations as text.
 */
export interface TaskDefinition extends DefinedFields {
  /** Origin of the grid of an `every` schedule without an anchor. */
  readonly anchorAt: string
  /** The seed of `H` and jitter: the key or the id of the task when a seed was first needed. */
  readonly seed: string | null
  /** The project of the task, whose secrets sign its requests. It never changes. */
  readonly projectId: string
  /** W3C trace context of the request that created the task, which its runs continue. */
  readonly traceparent: string | null
  /** Names of the secrets that its action refers to; null if it refers to none. */
  readonly secrets: readonly string[] | null
}

/** The policy for missed occurrences, and its limits. */
export type Misfire = TaskDefinition['misfire']

/** A definition as it stays in memory with a waiting run: complete, except for a large action. */
export type KeptDefinition = Omit<TaskDefinition, 'action'> & { readonly action: Action | LargeAction }

/** How many runs of a task may wait for an earlier one to end under `queue_all`. */
export const MAX_QUEUED = 100

/**
 * Maximum number of runs that may wait for an earlier one; null if runs do not wait, because they run concurrently or cancel
 * earlier ones.
 */
export function queuedAtMost(overlap: OverlapPolicy): number | null {
  switch (overlap) {
    case 'skip':
      return 0
    case 'queue_one':
      return 1
    case 'queue_all':
      return MAX_QUEUED
    case 'allow':
    case 'cancel_previous':
      return null
  }
}

export function planOf(definition: KeptDefinition): Plan {
  return {
    schedule: definition.schedule,
    startAt: definition.startAt === null ? null : instantMs(definition.startAt),
    endAt: definition.endAt === null ? null : instantMs(definition.endAt),
    anchorAt: instantMs(definition.anchorAt),
    seed: definition.seed,
    jitterMs: definition.jitter ? durationMs(definition.jitter) : 0,
  }
}

export function retryPolicyOf(definition: KeptDefinition): RetryPolicy {
  const { limit, initial, max } = definition.retry
  return { limit, initialMs: durationMs(initial), maxMs: durationMs(max) }
}

/** Recently parsed durations: there are few different ones, and each run needs some. */
const knownDurations = new Map<string, number>()
const MAX_KNOWN_DURATIONS = 1_000

/** The length of a duration that was validated before it was stored. */
export function durationMs(text: string): number {
  const known = knownDurations.get(text)
  if (known !== undefined) return known
  const parsed = parseDuration(text)
  if (!parsed.ok) throw new Error(`stored duration '${text}' is not valid: ${parsed.reason}`)
  if (knownDurations.size < MAX_KNOWN_DURATIONS) knownDurations.set(text, parsed.ms)
  return parsed.ms
}

/** The length of an instant as `toISOString` writes it, which is the form that Belfry itself stores. */
const CANONICAL_LENGTH = 24

/** Parses an instant that was validated before. */
export function instantMs(text: string): number {
  if (text.length === CANONICAL_LENGTH && text.endsWith('Z')) return Date.parse(text)
  const parsed = parseInstant(text)
  if (!parsed.ok) throw new Error(`stored instant '${text}' ${parsed.reason}`)
  return parsed.at
}
