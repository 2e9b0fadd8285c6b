/**
 * Counts minutes of history once more that were counted before, and finds those of which rows are gone since then. Over
 * and over through the last 24 hours, backwards, as many minutes at a time as hold a bounded number of runs. The shortest
 * retention is a day, and deletes by whole days: it takes no run of these hours.
 */

import { uuidv7 } from '../../core/ids.ts'
import { DAY_MS, MINUTE_MS } from '../../core/values/time-units.ts'
import { holdWalk, saveWalk } from '../../store/audit/audit-walks.ts'
import { type Finding, insertFindings } from '../../store/audit/findings.ts'
import type { Queryable } from '../../store/database/database.ts'
import { historyBegin } from '../../store/history/run-search.ts'
import { groupRuns, saveTallies, type Tally, talliesBetween, talliesOf } from '../../store/history/tally.ts'
import type { Logger } from '../../telemetry/logger.ts'

/** Maximum number of minutes per slice. A slice also ends with the minute in which its runs exceed MAX_RUNS. */
const MAX_MINUTES = 240
const MAX_RUNS = 50_000
const PAUSE_MS = 5_000
const BETWEEN_ROUNDS_MS = 30_000

/** Handles one slice if one is due. The caller holds the lock for counting. */
export async function recount(
  tx: Queryable,
  { countedUntil, now, log }: { countedUntil: number; now: number; log: Logger },
): Promise<void> {
  const [walk] = await tx.run(holdWalk('history'))
  if (!walk) return
  const [begin] = await tx.run(historyBegin())
  const oldest = Math.max(ceilToMinute(now - DAY_MS), ceilToMinute(begin?.at ?? 0))
  // The last minute is counted twice anyway, for late-written ends.
  const newest = countedUntil - MINUTE_MS
  const until = Math.min(newest, walk.position === null ? newest : Number(walk.position))
  const earliest = Math.max(oldest, until - MAX_MINUTES * MINUTE_MS)
  const counted = earliest < until ? await tx.run(talliesBetween({ from: earliest, until })) : []
  const from = firstMinute(counted, earliest)
  const stored = counted.filter(({ minute }) => minute >= from)
  if (stored.length > 0) await compare(tx, { stored, from, until, log })
  const isOver = from <= oldest
  const pauseMs = isOver ? BETWEEN_ROUNDS_MS : PAUSE_MS
  await tx.run(saveWalk({ name: 'history', position: isOver ? null : String(from), pauseMs }))
}

/** Returns where a slice begins that reaches back from its end until its runs exceed MAX_RUNS. */
function firstMinute(counted: readonly Tally[], earliest: number): number {
  let runs = 0
  for (const tally of counted.toReversed()) {
    runs += total(tally)
    if (runs > MAX_RUNS) return tally.minute
  }
  return earliest
}

interface Slice {
  readonly stored: readonly Tally[]
  readonly from: number
  readonly until: number
  readonly log: Logger
}

/** Compares the counts. A disappearance is reported once: afterwards the minute counts the rows that remain. */
async function compare(tx: Queryable, { stored, from, until, log }: Slice): Promise<void> {
  const present = new Map(
    talliesOf(await tx.run(groupRuns({ from, until }))).map((tally) => [keyOf(tally), tally]),
  )
  const lost = stored.flatMap((tally) => {
    const now = present.get(keyOf(tally)) ?? emptied(tally)
    const gone = missing(tally, now)
    return gone === 0 ? [] : { now, gone, of: total(tally) }
  })
  if (lost.length === 0) return
  await tx.run(saveTallies(lost.map(({ now }) => now)))
  await tx.run(insertFindings(lost.map(findingOf)))
  log.error(
    { minutes: lost.map(({ now, gone }) => ({ at: new Date(now.minute).toISOString(), gone })) },
    'rows are missing from history',
  )
}

const findingOf = ({ now, gone, of }: { now: Tally; gone: number; of: number }): Finding => ({
  id: uuidv7(),
  projectId: now.projectId,
  taskId: null,
  runId: null,
  kind: 'history_rows_lost',
  isRepaired: false,
  missed: 0,
  detail: `${gone} of ${of} runs and skipped occurrences of the minute from ${new Date(now.minute).toISOString()} are missing from history. The ledger of a task shows which of its occurrences are missing.`,
})

const COUNTS = ['completed', 'permanentlyFailed', 'cancelled', 'skipped'] as const
const total = (tally: Tally) => COUNTS.reduce((sum, name) => sum + tally[name], 0)
const missing = (before: Tally, now: Tally) =>
  COUNTS.reduce((sum, name) => sum + Math.max(0, before[name] - now[name]), 0)
const keyOf = ({ projectId, minute }: Tally) => `${projectId} ${minute}`
const emptied = ({ projectId, minute }: Tally): Tally => ({
  ...{ projectId, minute, late: {} },
  ...{ completed: 0, permanentlyFailed: 0, cancelled: 0, skipped: 0, missed: 0 },
})
const ceilToMinute = (at: number) => Math.ceil(at / MINUTE_MS) * MINUTE_MS
