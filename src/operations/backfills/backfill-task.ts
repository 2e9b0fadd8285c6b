/**
 * Requests runs of past occurrences. They are counted before anything is stored; the runs themselves are added to the agenda
 * later, a slice at a time, by any scheduler.
 */

import { invalidInput, Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import {
  type BackfillOrder,
  type BackfillOverlap,
  MAX_BACKFILL_OCCURRENCES,
  nextOfRange,
} from '../../core/policy/backfill.ts'
import { nextOccurrence } from '../../core/schedule/occurrences.ts'
import { instantMs, planOf, type TaskDefinition } from '../../core/task/task.ts'
import { utc } from '../../core/values/utc.ts'
import { inTurns } from '../../runtime/turns.ts'
import { cancelBackfillRuns, completionsKept, unfilled } from '../../store/backfills/backfill-runs.ts'
import {
  type BackfillCounts,
  type BackfillRow,
  cancelBackfills,
  findBackfills,
  insertBackfill,
  type NewBackfill,
  runningBackfill,
} from '../../store/backfills/backfills.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { lockRuns } from '../../store/tasks/cancel.ts'
import { lockTask } from '../../store/tasks/locked-task.ts'
import { requireQueue } from '../access/require.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import { type Answer, answerOnce, type Repeatable, remember } from '../idempotency.ts'
import { getTask } from '../tasks/read-tasks.ts'
import { lockLiving, refuseEnded } from '../tasks/settle.ts'
import { refuseMissingFiles } from '../tasks/task-files.ts'

/** Number of instants that a preview shows. */
export const INSTANTS_SHOWN = 10

/** A range of the past to run again. */
export interface BackfillInput {
  /** RFC 3339; `to` is not included. */
  readonly from: string
  readonly to: string
  /** Default `oldest_first`. */
  readonly order?: BackfillOrder | undefined
  /** Such as `10/s`; default no limit. */
  readonly rate?: string | undefined
  readonly overlap?: BackfillOverlap | undefined
  readonly maxRuns?: number | undefined
  /** Whether to run occurrences again that have completed. */
  readonly force?: boolean | undefined
  readonly reason?: string | undefined
}

/** A backfill that a caller requests. */
export interface WantedBackfill {
  readonly taskId: string
  readonly input: BackfillInput
  readonly by: string | null
  readonly repeat: Repeatable | null
  /** Turns the stored backfill into the body of the response. */
  readonly present: (row: FoundBackfill) => unknown
}

/** Returns what a backfill would do, without storing anything. */
export async function previewBackfill(
  context: Context,
  { taskId, input }: Pick<WantedBackfill, 'taskId' | 'input'>,
) {
  const task = await getTask(context, taskId)
  refuseEnded(task)
  const { occurrences, wanted } = await survey(context, { taskId, input, definition: task.definition })
  const runs = Math.min(wanted.length, input.maxRuns ?? wanted.length)
  return {
    occurrences,
    runs,
    passedOver: occurrences - wanted.length,
    first: wanted.slice(0, Math.min(runs, INSTANTS_SHOWN)).map(utc),
  }
}

/** Starts a backfill of the task with its current definition. */
export function backfillTask(context: Context, wanted: WantedBackfill): Promise<Answer> {
  const { db, projectId } = context
  const { taskId, input, by, repeat, present } = wanted
  return answerOnce(context, repeat, async () => {
    const current = await getTask(context, taskId)
    refuseEnded(current)
    const { definition, version: counted } = current
    const { occurrences } = await survey(context, { taskId, input, definition, isCounted: true })
    return withDeadlockRetry(db, async (tx) => {
      const task = await lockLiving(tx, context, taskId)
      if (task.version !== counted) throw changedMeanwhile(task.version)
      await refuseMissingFiles(tx, projectId, task.definition.action)
      const asked: NewBackfill = {
        ...rangeOf(input),
        id: uuidv7(),
        taskId,
        projectId,
        version: task.version,
        oneByOne:
          (input.overlap ?? (task.definition.overlap === 'allow' ? 'allow' : 'queue_all')) === 'queue_all',
        force: input.force ?? false,
        rate: input.rate ?? null,
        maxRuns: input.maxRuns ?? null,
        occurrences,
        madeBy: by,
        reason: input.reason ?? null,
      }
      const [stored] = await tx.run(insertBackfill(asked))
      if (!stored) throw backfillActive((await tx.run(runningBackfill(taskId)))[0]?.id ?? null)
      const [row] = await tx.run(findBackfills({ projectId, id: asked.id, limit: 1 }))
      await recordChange(tx, context, {
        action: 'backfill.create',
        subject: { kind: 'backfill', id: asked.id, name: task.name ?? task.key },
        after: { taskId, version: task.version, occurrences, ...input },
        reason: input.reason,
      })
      const answer = { status: 201, body: present(row as NonNullable<typeof row>) }
      if (repeat) await remember(tx, projectId, repeat, answer)
      return answer
    })
  })
}

const rangeOf = ({ from, to, order }: BackfillInput) => ({
  from: instantMs(from),
  to: instantMs(to),
  newestFirst: order === 'newest_first',
})

/** Number of occurrences that are examined together. */
const CHUNK = 5_000

interface Survey {
  readonly taskId: string
  readonly input: BackfillInput
  readonly definition: TaskDefinition
  /** Whether to count the occurrences only, without finding out which of them need a run. */
  readonly isCounted?: boolean
}

/** Examines the range: returns how many occurrences it contains and, in order, which of them need a run. */
async function survey(
  { db, clock }: Context,
  { taskId, input, definition, isCounted = false }: Survey,
): Promise<{ occurrences: number; wanted: number[] }> {
  refuseWithoutInstants(definition)
  const range = rangeOf(input)
  if (range.to > clock.now())
    throw invalidInput([
      { pointer: '/to', detail: 'is in the future; a backfill runs past occurrences only' },
    ])
  const plan = planOf(definition)
  if (!input.force) {
    const [kept] = await db.run(completionsKept(taskId))
    const first = nextOccurrence(plan, range.from - 1)
    if (kept?.at != null && first !== null && first < Math.min(kept.at, range.to))
      throw mayHaveCompleted(kept.at)
  }
  const wanted: number[] = []
  let position: number | null = null
  for (let occurrences = 0; ; ) {
    const chunk: number[] = await inTurns(nextOfRange(plan, { ...range, position }, CHUNK))
    occurrences += chunk.length
    if (occurrences > MAX_BACKFILL_OCCURRENCES) throw tooMany()
    if (chunk.length > 0 && !isCounted) {
      const rows = await db.run(unfilled({ taskId, instants: chunk, force: input.force ?? false }))
      const needed = new Set(rows.map(({ at }) => Math.round(at)))
      wanted.push(...chunk.filter((at) => needed.has(at)))
    }
    if (chunk.length < CHUNK) return { occurrences, wanted }
    position = chunk.at(-1) ?? null
  }
}

function refuseWithoutInstants({ schedule: { type } }: TaskDefinition): void {
  if (type !== 'delay' && type !== 'manual') return
  const why = type === 'delay' ? 'counts from the end of each run' : 'has no instants'
  throw new Refusal(
    'backfill_impossible',
    `A ${type} schedule ${why}, so the task has no past occurrences. Trigger the task instead.`,
  )
}

function mayHaveCompleted(historyFrom: number): Refusal {
  const detail = `is before ${utc(historyFrom)}, when the retained history of the task begins: occurrences before that may have completed; choose a later instant, or set force to rerun completed occurrences`
  return invalidInput([{ pointer: '/from', detail }])
}

function tooMany(): Refusal {
  const detail = `makes the range contain more than ${MAX_BACKFILL_OCCURRENCES} occurrences; split it into several backfills`
  return invalidInput([{ pointer: '/from', detail }])
}

function backfillActive(id: string | null): Refusal {
  const message = `Backfill ${id} of this task is still running. Wait until it ends, or cancel it with POST /v1/backfills/${id}/cancel.`
  return new Refusal('backfill_active', message, { extra: { backfillId: id } })
}

function changedMeanwhile(version: number): Refusal {
  return new Refusal(
    'version_mismatch',
    'The task changed while its occurrences were being counted. Send the request again.',
    { extra: { currentVersion: version } },
  )
}

type FoundBackfill = BackfillRow & BackfillCounts

export async function getBackfill({ db, projectId }: Context, id: string): Promise<FoundBackfill> {
  const [row] = await db.run(findBackfills({ projectId, id, limit: 1 }))
  if (!row) throw new Refusal('not_found', `Backfill ${id} does not exist.`)
  return row
}

/** Cancels a backfill: its waiting runs are cancelled, its running ones are requested to stop. */
export async function cancelBackfill(context: Context, id: string): Promise<FoundBackfill> {
  const { db, wakeUps, projectId } = context
  const { taskId, state } = await getBackfill(context, id)
  const told = await withDeadlockRetry(db, async (tx) => {
    const [task] = await tx.run(lockTask(projectId, taskId))
    if (task) requireQueue(context, task.definition.queue)
    const [cancelled] = await tx.run(cancelBackfills({ taskId, id }))
    if (!cancelled) return null
    await recordChange(tx, context, {
      action: 'backfill.cancel',
      subject: { kind: 'backfill', id },
      before: { taskId, state },
      after: { taskId, state: 'cancelled' },
    })
    await tx.run(lockRuns({ taskId, runId: null }))
    return tx.run(cancelBackfillRuns({ taskId, number: cancelled.number }))
  })
  if (told === null) {
    const { state: ended } = await getBackfill(context, id)
    throw new Refusal('backfill_ended', `Backfill ${id} has already ended with the state ${ended ?? state}.`)
  }
  if (told.some(({ wasRunning }) => wasRunning)) wakeUps.announceCancel()
  return getBackfill(context, id)
}
