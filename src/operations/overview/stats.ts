/** The overview: the current state, the last hour and day, and what comes next. */

import { SHARD_COUNT } from '../../core/ids.ts'
import { countedUpTo } from '../../core/values/counted.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/values/time-units.ts'
import { utc } from '../../core/values/utc.ts'
import { type AuditSummary, auditSummary } from '../../store/audit/findings.ts'
import type { Queryable } from '../../store/database/database.ts'
import { type RefusedRow, refusedNow } from '../../store/database/refused-rows.ts'
import { failedTasks, type LiveCounts, liveCounts, taskCounts } from '../../store/history/overview.ts'
import { type ClockStepRow, latestClockStep } from '../../store/nodes/clock-steps.ts'
import { type OpenCircuit, openCircuitsOf } from '../../store/targets/target-circuits.ts'
import type { Context } from '../context.ts'
import { type Forecast, forecast } from '../schedules/forecast.ts'
import { summariseAudit } from './audit-summary.ts'
import { allShards, isWatched, type NodeView, nodesOfProject } from './cluster.ts'
import { failingOf } from './failing-tasks.ts'
import { countHistory, outcomesOf, stepsOf } from './history-counts.ts'
import { verdictOf } from './verdict.ts'

const MINUTES_SHOWN = 60
/** A due run that has not started within this time is late. */
const LATE_AFTER_MS = 5_000
/** Number of rows that are examined at either end of each shard. */
const MAX_PER_SHARD = 150
export const MAX_TASKS_COUNTED = 10_000
const MAX_FAILURES = 2_000
const MAX_FAILED_TASKS = 200
const RUNS_OF_A_FAILED_TASK = 50
const MAX_REFUSED = 1_000
const REFUSED_SHOWN = 10
const MAX_CIRCUITS = 1_000
const CIRCUITS_SHOWN = 10
/** Maximum number of findings of a day that are counted; there are hardly ever any. */
export const MAX_FINDINGS_COUNTED = 10_000

export async function readStats(context: Context) {
  const { db, clock, projectId, writeCheck } = context
  const trouble = await writeCheck.trouble()
  const now = clock.now()
  const [nodes, shards] = [await nodesOfProject(context), await allShards(context)]
  const counted = await db.snapshot((tx) => countHistory(tx, { projectId, from: now - DAY_MS, now }))
  const present = await db.snapshot((tx) => countPresent(tx, projectId, now), { inOrder: true })
  const { live, tasks, ahead } = present
  const { failing } = present
  const unwatched = shards.filter((shard) => !isWatched(shard))
  const lateCount = { count: live.late, atLeast: live.isDueCut }
  const lost = nodes.filter(
    ({ why, deadAt }) => why === 'lost' && deadAt !== null && deadAt > now - HOUR_MS,
  ).length
  const quiet = nodes.filter(({ state }) => state === 'quiet').length
  const step = present.clockStep ?? null
  const day = outcomesOf(counted.minutes)
  return {
    now: utc(now),
    verdict: verdictOf({
      database: trouble?.detail ?? null,
      unwatchedShards: unwatched.length,
      late: { ...lateCount, oldestMs: live.oldestLateAt === null ? null : now - live.oldestLateAt },
      failing,
      lostNodes: lost,
      quietNodes: quiet,
      ran: day.completed + day.permanentlyFailed + day.cancelled,
      skipped: day.skipped,
      missed: day.missed,
      audit: auditOf(present.audit, now),
      refused: refusedOf(present.refused),
      circuits: circuitsOf(present.circuits),
      clockStep: step && { ...step, agoMs: Math.max(0, now - step.noticedAt) },
    }),
    runs: {
      pending: { count: live.pending, atLeast: live.isDueCut },
      running: { count: live.running, atLeast: live.isDueCut },
      retrying: { count: live.retrying, atLeast: live.isDueCut || live.isAheadCut },
      late: { ...lateCount, oldestDueAt: live.oldestLateAt === null ? null : utc(live.oldestLateAt) },
    },
    places: placesOf(nodes),
    tasks: {
      total: countedUpTo(MAX_TASKS_COUNTED, tasks.total),
      paused: {
        ...countedUpTo(MAX_TASKS_COUNTED, tasks.paused),
        since: tasks.pausedSince === null ? null : utc(tasks.pausedSince),
      },
      failing,
    },
    lastDay: { ...day, isComplete: counted.isComplete },
    minutes: stepsOf(counted, { now, stepMs: MINUTE_MS, count: MINUTES_SHOWN }),
    next: {
      ...ahead,
      minutes: ahead.minutes.map(({ minute, count }) => ({ at: utc(minute), count })),
    },
    audit: summariseAudit(present.audit, context),
    refused: refusedOf(present.refused),
    circuits: circuitsOf(present.circuits),
    database: { isWritable: trouble === null, code: trouble?.code ?? null, detail: trouble?.detail ?? null },
    clock: { steps: step?.count ?? 0, lastStep: step && { at: utc(step.noticedAt), byMs: step.byMs } },
    nodes: { alive: nodes.filter(({ state }) => state === 'alive').length, quiet, lost },
    shards: {
      total: SHARD_COUNT,
      unwatched: unwatched.length,
      unwatchedSince: unwatched.length === 0 ? null : utc(Math.min(...unwatched.map((s) => s.watchedUntil))),
    },
  }
}

/** Returns the audit's part of the verdict. Before the first round has ended, the verdict does not mention the audit. */
const auditOf = (audit: AuditSummary | undefined, now: number) => ({
  repaired: audit?.repaired ?? 0,
  unrepaired: audit?.unrepaired ?? 0,
  minutesLost: audit?.minutesLost ?? 0,
  isWhole: audit?.oneOffsEndedAt != null && audit.historyEndedAt !== null,
  silentMs: audit?.roundEndedAt == null ? null : now - audit.roundEndedAt,
})

interface Present {
  readonly live: LiveCounts
  readonly failing: Awaited<ReturnType<typeof failingOf>>
  readonly tasks: { readonly total: number; readonly paused: number; readonly pausedSince: number | null }
  readonly ahead: Forecast
  readonly audit: AuditSummary | undefined
  readonly refused: readonly RefusedRow[]
  readonly circuits: readonly OpenCircuit[]
  readonly clockStep: ClockStepRow | undefined
}

const NOTHING_LIVE: LiveCounts = {
  pending: 0,
  running: 0,
  retrying: 0,
  late: 0,
  oldestLateAt: null,
  isDueCut: false,
  isAheadCut: false,
}

async function countPresent(tx: Queryable, projectId: string, now: number): Promise<Present> {
  const [live = NOTHING_LIVE] = await tx.run(
    liveCounts({ projectId, lateAfterMs: LATE_AFTER_MS, maxPerShard: MAX_PER_SHARD }),
  )
  const [tasks = { total: 0, paused: 0, pausedSince: null }] = await tx.run(
    taskCounts({ projectId, limit: MAX_TASKS_COUNTED }),
  )
  const failed = await tx.run(
    failedTasks({
      projectId,
      maxFailures: MAX_FAILURES,
      maxTasks: MAX_FAILED_TASKS,
      runsEach: RUNS_OF_A_FAILED_TASK,
    }),
  )
  const [audit] = await tx.run(auditSummary({ projectId, limit: MAX_FINDINGS_COUNTED }))
  const refused = await tx.run(refusedNow({ projectId, limit: MAX_REFUSED }))
  const circuits = await tx.run(openCircuitsOf({ projectId, limit: MAX_CIRCUITS }))
  const [clockStep] = await tx.run(latestClockStep())
  return {
    live,
    tasks,
    failing: await failingOf(tx, failed),
    audit,
    refused,
    circuits,
    clockStep,
    ahead: await forecast(tx, projectId, now),
  }
}

const refusedOf = (rows: readonly RefusedRow[]) => ({
  ...countedUpTo(MAX_REFUSED, rows.length),
  items: rows.slice(0, REFUSED_SHOWN).map(({ firstAt, lastAt, ...row }) => ({
    ...row,
    since: utc(firstAt),
    lastTriedAt: utc(lastAt),
  })),
})

const circuitsOf = (open: readonly OpenCircuit[]) => ({
  ...countedUpTo(MAX_CIRCUITS, open.length),
  items: open.slice(0, CIRCUITS_SHOWN).map(({ target, openedAt, until, error }) => ({
    target,
    since: utc(openedAt),
    nextProbeAt: utc(until),
    error: error && { code: error.code, message: error.message },
  })),
})

function placesOf(nodes: readonly NodeView[]) {
  const living = nodes.filter(({ state }) => state !== 'dead')
  const count = living.reduce((sum, { busy }) => sum + busy.count, 0)
  return {
    total: living.reduce((sum, { concurrency }) => sum + concurrency, 0),
    busy: { count, atLeast: living.some(({ busy }) => busy.atLeast) },
  }
}
