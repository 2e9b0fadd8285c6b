/** Reads the ledger of one task, within bounds, and a page of it to show. */

import { Refusal } from '../../core/errors.ts'
import {
  isInOrder,
  type Ledger,
  type LedgerCase,
  type LedgerEntry,
  type LedgerState,
  ledgerSteps,
} from '../../core/ledger/ledger.ts'
import { firstOccurrence } from '../../core/schedule/occurrences.ts'
import { planOf } from '../../core/task/task.ts'
import { utc } from '../../core/values/utc.ts'
import { inTurns } from '../../runtime/turns.ts'
import type { Queryable } from '../../store/database/database.ts'
import * as store from '../../store/history/ledger.ts'
import { historyBeginOf } from '../../store/history/run-search.ts'
import type { Context } from '../context.ts'
import { notFound } from '../tasks/read-tasks.ts'

/** Maximum number of occurrences in one ledger. */
export const MAX_LEDGER_OCCURRENCES = 10_000
/** Maximum number of history rows that it reads: twice as many, to leave room for manual runs. */
const MAX_ROWS = 2 * MAX_LEDGER_OCCURRENCES
/** Maximum number of past versions of the task that it takes into account. */
const MAX_VERSIONS = 200
const MAX_LIVE_ROWS = 5_000
/**
 * Ranges to try if the request gives no start: the last day or, for a task that is due too often for that, the longest of these
 * that fits.
 */
const DEFAULT_SPANS_MS = [86_400_000, 3_600_000, 60_000]

/** Which part of which ledger is requested. */
export interface LedgerQuery {
  readonly taskId: string
  readonly from: number | null
  readonly to: number | null
  readonly show: LedgerState | 'problems' | null
  /** Number of entries to skip because they were shown already. */
  readonly offset: number
  readonly limit: number
}

/** A ledger, and the requested page of it. */
export interface LedgerView {
  readonly from: number
  readonly to: number
  readonly now: number
  /** Nothing is known of what was due before, because its history was deleted. */
  readonly historyFrom: number | null
  readonly ledger: Ledger
  readonly manual: number
  readonly page: readonly LedgerEntry[]
  readonly hasMore: boolean
}

/** Reads the ledger. All statements use one snapshot, so a run that ends meanwhile is neither missed nor read twice. */
export async function readLedger({ db, projectId }: Context, query: LedgerQuery): Promise<LedgerView> {
  return db.snapshot(
    async (tx) => {
      const [task] = await tx.run(store.ledgerTask({ projectId, taskId: query.taskId }))
      if (!task) return notFound(query.taskId)
      const to = query.to ?? task.now
      const [begin] = await tx.run(historyBeginOf(projectId))
      const knownFrom = Math.max(begin?.at ?? Number.NEGATIVE_INFINITY, Number.MIN_SAFE_INTEGER)
      for (const [i, spanMs] of DEFAULT_SPANS_MS.entries()) {
        const from = query.from ?? to - spanMs
        const range = { from: Math.max(from, knownFrom), to, knownFrom }
        const made = await makeLedger(tx, { taskId: query.taskId, task, ...range })
        const isLastTry = query.from !== null || i === DEFAULT_SPANS_MS.length - 1
        if (made.cutAt !== null && !isLastTry) continue
        if (made.cutAt !== null) throw tooLong(from, made.cutAt)
        const isClipped = from < knownFrom && task.createdAt < knownFrom
        return {
          ...shown(made.ledger, query),
          ...made,
          from,
          to,
          now: task.now,
          historyFrom: isClipped ? knownFrom : null,
        }
      }
      throw new Error('unreachable: the last span is answered or refused')
    },
    { inOrder: true },
  )
}

interface LedgerRange {
  readonly taskId: string
  readonly task: store.LedgerTask
  readonly from: number
  readonly to: number
  /** History before this instant was deleted. */
  readonly knownFrom: number
}

async function makeLedger(
  tx: Queryable,
  { taskId, task, from, to, knownFrom }: LedgerRange,
): Promise<{ ledger: Ledger; manual: number; cutAt: number | null }> {
  const history = await tx.run(store.historyBetween({ taskId, from, to, limit: MAX_ROWS + 1 }))
  const past = await tx.run(store.pastVersions({ taskId, from, limit: MAX_VERSIONS + 1 }))
  const live = await tx.run(store.liveOccurrences({ taskId, limit: MAX_LIVE_ROWS }))
  const skips = await tx.run(store.skipBefore({ taskId, from }))
  const [before = null] = await tx.run(store.occurrenceBefore({ taskId, from }))
  const { now, createdAt, cancelledAt, version, definition } = task
  const present = { version, definition, until: null }
  const it: LedgerCase = {
    from,
    to,
    now,
    createdAt,
    endedAt: cancelledAt,
    pausedFrom: pausedFrom(task),
    versions: [...past.slice(0, MAX_VERSIONS).reverse(), present],
    rows: [...skips, ...history, ...live],
    before,
    isCutOff: createdAt < knownFrom,
    limit: MAX_LEDGER_OCCURRENCES,
  }
  const ledger = await inTurns(ledgerSteps(it))
  const lastRow = history.length > MAX_ROWS ? (history[MAX_ROWS - 1]?.scheduledFor ?? null) : null
  const lastVersion = past.length > MAX_VERSIONS ? (past[MAX_VERSIONS]?.until ?? null) : null
  const cuts = [ledger.cutAt, lastRow, lastVersion].filter((at) => at !== null)
  const manual = history.filter(({ kind }) => kind === 'manual').length
  return { ledger, manual, cutAt: cuts.length === 0 ? null : Math.min(...cuts) }
}

/** Up to where everything was recorded that a pause has passed over. What was due at once when it began is held, and not recorded. */
function pausedFrom({ pausedAt, updatedAt, isPausedFromStart, definition }: store.LedgerTask): number | null {
  if (pausedAt === null) return null
  if (!isPausedFromStart || definition.schedule.type !== 'once') return updatedAt
  const at = firstOccurrence(planOf(definition), Number.NEGATIVE_INFINITY)
  return at === null ? updatedAt : Math.min(updatedAt, at - 1)
}

function shown({ entries }: Ledger, { show, offset, limit }: LedgerQuery) {
  const isShown = ({ state }: LedgerEntry) =>
    show === null || (show === 'problems' ? !isInOrder(state) : state === show)
  const all = entries.filter(isShown)
  return { page: all.slice(offset, offset + limit), hasMore: all.length > offset + limit }
}

function tooLong(from: number, cutAt: number): Refusal {
  const detail = `makes the range contain more than ${MAX_LEDGER_OCCURRENCES} occurrences; from ${utc(from)}, one request can cover up to ${utc(cutAt)}. Request the rest separately`
  return new Refusal('invalid_input', `?to ${detail}.`, { problems: [{ pointer: '?to', detail }] })
}
