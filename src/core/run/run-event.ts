/**
 * The event for the end of a run, in the form of CloudEvents 1.0. Each ended run has one event, so the id of the event is
 * derived from the id of the run.
 */

import type { ActionType } from '../action/action.ts'
import { utc } from '../values/utc.ts'
import type { AttemptOutcome, EndedRunState, RunKind } from './run.ts'

export const ENDED_STATES = [
  'completed',
  'permanently_failed',
  'cancelled',
  'skipped',
] as const satisfies readonly EndedRunState[]

/** An ended run with what is known of its task, as it is read for events. */
export interface EndedRun {
  readonly id: string
  readonly projectId: string
  readonly taskId: string
  /** The number of the transaction that stored it. */
  readonly xid: number
  /** When the run ended, in epoch microseconds, with the precision of the database. */
  readonly us: number
  readonly state: EndedRunState
  readonly kind: RunKind
  readonly reason: string | null
  readonly outcome: AttemptOutcome | null
  readonly scheduledFor: number
  readonly startedAt: number | null
  readonly endedAt: number
  readonly coversUntil: number | null
  readonly coversCount: number | null
  readonly lateMs: number | null
  readonly attempt: number
  readonly losses: number
  readonly version: number
  readonly retryOf: string | null
  readonly error: unknown
  readonly taskName: string | null
  readonly taskKey: string | null
  readonly owner: string | null
  readonly tags: readonly string[]
  readonly type: ActionType
  readonly queue: string
  readonly tracingId: string | null
}

/** Which runs a subscriber wants: a run must match one item of each list. An absent list matches every run. */
export interface RunFilter {
  readonly states?: readonly EndedRunState[] | undefined
  readonly taskIds?: readonly string[] | undefined
  readonly tags?: readonly string[] | undefined
  readonly types?: readonly string[] | undefined
  readonly queues?: readonly string[] | undefined
  readonly owners?: readonly string[] | undefined
}

export function isWantedRun(run: EndedRun, filter: RunFilter): boolean {
  const { states, taskIds, tags, types, queues, owners } = filter
  return (
    (states === undefined || states.includes(run.state)) &&
    (taskIds === undefined || taskIds.includes(run.taskId)) &&
    (tags === undefined || tags.some((tag) => run.tags.includes(tag))) &&
    (types === undefined || types.includes(run.type)) &&
    (queues === undefined || queues.includes(run.queue)) &&
    (owners === undefined || (run.owner !== null && owners.includes(run.owner)))
  )
}

/** An event as it is sent. */
export interface RunEvent {
  readonly specversion: '1.0'
  readonly id: string
  readonly source: string
  readonly type: `belfry.run.${EndedRunState}`
  /** The id of the task. */
  readonly subject: string
  readonly time: string
  readonly datacontenttype: 'application/json'
  readonly data: {
    readonly run: {
      readonly id: string
      readonly state: EndedRunState
      readonly kind: RunKind
      readonly reason: string | null
      readonly outcome: AttemptOutcome | null
      readonly scheduledFor: string
      readonly startedAt: string | null
      readonly endedAt: string
      readonly latenessMs: number | null
      readonly attempt: number
      readonly losses: number
      readonly version: number
      readonly retryOf: string | null
      readonly covers: { readonly until: string; readonly count: number | null } | null
      readonly error: unknown
    }
    readonly task: {
      readonly id: string
      readonly name: string | null
      readonly key: string | null
      readonly owner: string | null
      readonly tags: readonly string[]
      readonly type: ActionType
      readonly queue: string
      readonly tracingId: string | null
    }
  }
}

export function runEventOf(run: EndedRun): RunEvent {
  const { coversUntil, startedAt } = run
  return {
    specversion: '1.0',
    id: `${run.id}.ended`,
    source: `/projects/${run.projectId}`,
    type: `belfry.run.${run.state}`,
    subject: run.taskId,
    time: utc(run.endedAt),
    datacontenttype: 'application/json',
    data: {
      run: {
        id: run.id,
        state: run.state,
        kind: run.kind,
        reason: run.reason,
        outcome: run.outcome,
        scheduledFor: utc(run.scheduledFor),
        startedAt: startedAt === null ? null : utc(startedAt),
        endedAt: utc(run.endedAt),
        latenessMs: run.lateMs,
        attempt: run.attempt,
        losses: run.losses,
        version: run.version,
        retryOf: run.retryOf,
        covers: coversUntil === null ? null : { until: utc(coversUntil), count: run.coversCount },
        error: run.error,
      },
      task: {
        id: run.taskId,
        name: run.taskName,
        key: run.taskKey,
        owner: run.owner,
        tags: run.tags,
        type: run.type,
        queue: run.queue,
        tracingId: run.tracingId,
      },
    },
  }
}
