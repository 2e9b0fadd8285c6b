/**
 * A task: what to do and when. The definition is what a user decided, complete with every default, so
 * that a later release with other defaults does not change tasks that exist.
 */
import type { Action, LargeAction } from '../action/action.ts'
import type { RetryPolicy } from '../policy/retry-policy.ts'
import { parseInstant } from '../schedule/instant.ts'
import type { Plan } from '../schedule/schedule.ts'
import { parseDuration } from '../values/duration.ts'
import type { ValueOf } from './field-kinds.ts'
import type { FieldName, TaskFields } from './fields.ts'

/** scheduled → pending → running → scheduled … finished; paused and cancelled are the user's word. */
export const TASK_STATES = ['scheduled', 'pending', 'running', 'paused', 'finished', 'cancelled'] as const
export type TaskState = (typeof TASK_STATES)[number]

/** What to do when an occurrence comes due while a run of the same task is active. */
export const OVERLAP_POLICIES = ['skip', 'allow', 'queue_one', 'queue_all', 'cancel_previous'] as const
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number]

/** What to do with occurrences that came due while no scheduler was there. */
export const MISFIRE_POLICIES = ['run_once', 'run_all', 'skip', 'fail'] as const
export type MisfirePolicy = (typeof MISFIRE_POLICIES)[number]

/** What to do with a run whose worker died: `retry` is at least once, `count` uses up a retry, `fail` is at most once. */
export const WORKER_LOSS_POLICIES = ['retry', 'count', 'fail'] as const
export type WorkerLossPolicy = (typeof WORKER_LOSS_POLICIES)[number]

/** The fields of a task that its definition holds. */
export type DefinedFields = {
  readonly [Name in FieldName as TaskFields[Name] extends { readonly keptIn: 'column' }
    ? never
    : Name]: ValueOf<TaskFields[Name]>
}

/**
 * All that a user decided about a task, and what belongs to that. It is stored whole, once for each version: instants as
 * RFC 3339, durations as text, the form that users wrote.
 */
export interface TaskDefinition extends DefinedFields {
  /** Origin of the grid of `every` when the schedule names none. */
  readonly anchorAt: string
  /** What `H` and jitter are drawn from: the key or the id it had when it first needed one. */
  readonly seed: string | null
  /** Whose task it is: its requests are signed with the secrets of this project. A task never changes it. */
  readonly projectId: string
  /** W3C trace context of the request that created the task; its runs continue that trace. */
  readonly traceparent: string | null
  /** Names of the secrets that its action refers to; null where it refers to none. */
  readonly secrets: readonly string[] | null
}

/** What to do with missed occurrences, and with how many. */
export type Misfire = TaskDefinition['misfire']

/** A definition as it waits in memory with a run: complete, but for an action that is large. */
export type KeptDefinition = Omit<TaskDefinition, 'action'> & { readonly action: Action | LargeAction }

/** How many runs of a task may wait for an earlier one to end under `queue_all`. */
export const MAX_QUEUED = 100

/** How many runs may wait for an earlier one; null: a run never waits, it runs beside the others or ends them. */
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

/** Durations that were read before: few differ, and each run asks for some. */
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

/** As `toISOString` writes it, which is how our own instants are stored. */
const CANONICAL_LENGTH = 24

/** The instant that a validated text stands for. */
export function instantMs(text: string): number {
  if (text.length === CANONICAL_LENGTH && text.endsWith('Z')) return Date.parse(text)
  const parsed = parseInstant(text)
  if (!parsed.ok) throw new Error(`stored instant '${text}' ${parsed.reason}`)
  return parsed.at
}
