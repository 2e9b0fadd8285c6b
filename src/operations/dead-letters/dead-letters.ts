/** Dead letters: finds and groups runs that failed and will not be retried, and starts redrives of them. */

import { Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import type { Grouping } from '../../core/run/grouping.ts'
import { instantMs } from '../../core/task/task.ts'
import type { Queryable } from '../../store/database/database.ts'
import {
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterGroup,
  groupDeadLetters,
  lastExamined,
  openDeadLetters,
} from '../../store/history/dead-letters.ts'
import { cancelRedrive, findRedrives, insertRedrive, type RedriveRow } from '../../store/history/redrives.ts'
import { NO_ID, type RunPosition, runsById } from '../../store/history/run-search.ts'
import type { RunRow } from '../../store/history/runs.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'

/** Maximum number of failed runs that one query examines; those among them that were settled are skipped. */
export const MAX_EXAMINED = 2_000
const MAX_LOOKS = 10
/** Groups are computed from the latest failed runs, at most this many. */
export const MAX_GROUPED = 50_000
/** Maximum number of dead letters that a forecast counts. */
export const MAX_FORECAST = 10_000
const RATE = 10

/** A filter for dead letters; instants are RFC 3339. A dead letter must match every given field. */
export interface FilterInput {
  readonly taskId?: string | undefined
  readonly fingerprint?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly runIds?: readonly string[] | undefined
}

export function filterOf({ taskId, fingerprint, from, to, runIds }: FilterInput): DeadLetterFilter {
  return {
    taskId,
    fingerprint,
    from: from === undefined ? undefined : instantMs(from),
    to: to === undefined ? undefined : instantMs(to),
    runIds,
  }
}

/** Returns a position after every ended run, to start a search with the newest. */
export const newest = (): RunPosition => ({ us: (Date.now() + 86_400_000) * 1_000, id: NO_ID })

/** Some dead letters, and the position to continue from; null if there are no more. */
export interface FoundLetters {
  readonly letters: readonly DeadLetter[]
  readonly next: RunPosition | null
}

/**
 * Returns the next dead letters after a position. After a bounded number of examined runs it returns what it has found, even if
 * most runs were settled.
 */
export async function findLetters(
  tx: Queryable,
  query: { projectId: string; filter: DeadLetterFilter; before: RunPosition; limit: number },
): Promise<FoundLetters> {
  let { before } = query
  const letters: DeadLetter[] = []
  for (let i = 0; i < MAX_LOOKS; i++) {
    const limit = query.limit - letters.length
    const look = { ...query, before, limit, maxExamined: MAX_EXAMINED }
    const found = await tx.run(openDeadLetters(look))
    letters.push(...found)
    const last = found.at(-1)
    if (found.length === limit && last) return { letters, next: { us: last.us, id: last.id } }
    const [end] = await tx.run(lastExamined(look))
    if (!end) return { letters, next: null }
    before = end
  }
  return { letters, next: before }
}

/** Returns a page of dead letters as runs. */
export function listDeadLetters(
  { db, projectId }: Context,
  query: { filter: DeadLetterFilter; before: RunPosition; limit: number },
): Promise<{ rows: readonly (RunRow & { fingerprint: string })[]; next: RunPosition | null }> {
  return db.snapshot(
    async (tx) => {
      const { letters, next } = await findLetters(tx, { projectId, ...query })
      const endedFromUs = Math.min(...letters.map(({ us }) => us))
      const ids = letters.map(({ id }) => id)
      const runs = ids.length === 0 ? [] : await tx.run(runsById({ ids, endedFromUs }))
      const byId = new Map(letters.map((letter) => [letter.id, letter]))
      const rows = runs.map((run) => ({ ...run, fingerprint: byId.get(run.id)?.fingerprint ?? '' }))
      const last = runs.at(-1)
      // If the page was cut because of its size, it ends with the last run that was read.
      const end = last?.hasNext ? byId.get(last.id) : undefined
      return { rows, next: end ? { us: end.us, id: end.id } : next }
    },
    { inOrder: true },
  )
}

export async function listGroups(
  { db, projectId }: Context,
  query: { filter: DeadLetterFilter; by: Grouping; limit: number },
): Promise<{ groups: readonly DeadLetterGroup[]; isComplete: boolean }> {
  const groups = await db.snapshot(
    (tx) => tx.run(groupDeadLetters({ projectId, ...query, maxExamined: MAX_GROUPED })),
    { inOrder: true },
  )
  return { groups, isComplete: (groups[0]?.examined ?? 0) < MAX_GROUPED && groups.length < query.limit }
}

/** Counts the matching dead letters, up to a bound. */
export async function forecastRedrive(context: Context, filter: DeadLetterFilter) {
  const { letters, next } = await countLetters(context, filter, newest())
  const endedTasks = letters.filter(({ isLiving }) => !isLiving).length
  return { count: letters.length, endedTasks, isComplete: next === null }
}

/** Returns the matching dead letters after a position, up to the bound of a forecast. */
export const countLetters = (
  { db, projectId }: Context,
  filter: DeadLetterFilter,
  before: RunPosition,
): Promise<FoundLetters> =>
  db.snapshot((tx) => findLetters(tx, { projectId, filter, before, limit: MAX_FORECAST }), { inOrder: true })

/** Starts a redrive of the matching dead letters. Runs that fail from now on are not included. */
export async function beginRedrive(
  context: Context,
  { filter, rate }: { readonly filter: FilterInput; readonly rate?: number | undefined },
): Promise<RedriveRow> {
  const { db, clock, projectId } = context
  const id = uuidv7()
  const meant = filterOf(filter)
  const to = Math.min(meant.to ?? Number.POSITIVE_INFINITY, Math.ceil(clock.now()))
  await db.transaction(async (tx) => {
    await tx.run(insertRedrive({ id, projectId, filter: { ...meant, to }, rate: rate ?? RATE }))
    await recordChange(tx, context, {
      action: 'redrive.create',
      subject: { kind: 'redrive', id },
      after: { filter, rate: rate ?? RATE },
    })
  })
  return getRedrive(context, id)
}

export async function getRedrive({ db, projectId }: Context, id: string): Promise<RedriveRow> {
  const [row] = await db.run(findRedrives({ projectId, id, limit: 1 }))
  if (!row) throw new Refusal('not_found', `Redrive ${id} does not exist.`)
  return row
}

export async function endRedrive(context: Context, id: string): Promise<RedriveRow> {
  const { db, projectId } = context
  const [cancelled] = await db.transaction(async (tx) => {
    const rows = await tx.run(cancelRedrive({ projectId, id }))
    if (rows.length > 0)
      await recordChange(tx, context, {
        action: 'redrive.cancel',
        subject: { kind: 'redrive', id },
        before: { state: 'running' },
        after: { state: 'cancelled' },
      })
    return rows
  })
  const redrive = await getRedrive(context, id)
  if (!cancelled)
    throw new Refusal('redrive_ended', `Redrive ${id} has already ended with the state ${redrive.state}.`)
  return redrive
}
