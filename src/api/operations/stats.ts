/**
 * The overview: how things stand, how the last hour and day were, what comes next. It is the same for
 * everybody who asks, so it is made once and shown to all who ask within a moment; the longer it took to
 * make, the longer it is shown, so that however many look they cost a bounded share of the database.
 */
import { SHARD_COUNT } from '../../core/ids.ts'
import { addBuckets, type LatenessBuckets, latenessAt } from '../../core/lateness.ts'
import { type AuditSummary, auditSummary } from '../../store/audit.ts'
import type { Queryable } from '../../store/database.ts'
import {
  type FailedTask,
  failedTasks,
  type LiveCounts,
  liveCounts,
  taskCounts,
} from '../../store/overview.ts'
import { groupRuns, readProgress, readTallies, type Tally, talliesOf } from '../../store/tally.ts'
import { presentAudit, utc } from '../present.ts'
import type { Counted } from '../schemas/counted.ts'
import type { Stats } from '../schemas/stats.ts'
import { allNodes, allShards, isWatched, type NodeView } from './cluster.ts'
import type { Context } from './context.ts'
import { type Forecast, forecast } from './forecast.ts'
import { verdictOf } from './verdict.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const MINUTES_SHOWN = 60
/** A run that has been due for this long and has not begun is late. */
const LATE_AFTER_MS = 5_000
/** Rows of each shard that are looked at, at either end. */
const MAX_PER_SHARD = 150
const MAX_TASKS_COUNTED = 10_000
const MAX_FAILURES = 2_000
const MAX_FAILED_TASKS = 200
const RUNS_OF_A_FAILED_TASK = 50
const FAILING_SHOWN = 10
/** Findings of a day that are counted; there are hardly ever any. */
export const MAX_FINDINGS_COUNTED = 10_000
/** Minutes that are counted from history itself, because nobody has counted them yet: a day would take too long. */
const MAX_UNCOUNTED_MINUTES = 3

/** The overview is shown again for at least this long, and for twenty times as long as it took to make. */
const SHOWN_AGAIN_MS = 1_000
const SHOWN_PER_MS = 20
const LONGEST_SHOWN_MS = 30_000

/** Makes the overview, once for all who ask at about the same time. */
export class Overview {
  readonly #context: Context
  #made: Promise<Stats> | undefined
  #validUntil = 0

  constructor(context: Context) {
    this.#context = context
  }

  get(): Promise<Stats> {
    if (this.#made && performance.now() < this.#validUntil) return this.#made
    const startedAt = performance.now()
    this.#validUntil = Number.POSITIVE_INFINITY
    this.#made = readStats(this.#context)
    this.#made.then(
      () => {
        const tookMs = performance.now() - startedAt
        const shownMs = Math.min(LONGEST_SHOWN_MS, Math.max(SHOWN_AGAIN_MS, tookMs * SHOWN_PER_MS))
        this.#validUntil = performance.now() + shownMs
      },
      () => {
        this.#validUntil = 0
      },
    )
    return this.#made
  }
}

export async function readStats(context: Context): Promise<Stats> {
  const { db, clock, projectId } = context
  const now = clock.now()
  const [nodes, shards] = [await allNodes(context), await allShards(context)]
  const counted = await db.snapshot((tx) => countHistory(tx, projectId, now))
  const present = await db.snapshot((tx) => countPresent(tx, projectId, now), { inOrder: true })
  const { live, tasks, ahead } = present
  const failing = failingOf(present.failed)
  const unwatched = shards.filter((shard) => !isWatched(shard))
  const lateCount = { count: live.late, atLeast: live.isDueCut }
  const lost = nodes.filter(
    ({ why, deadAt }) => why === 'lost' && deadAt !== null && deadAt > now - HOUR_MS,
  ).length
  const quiet = nodes.filter(({ state }) => state === 'quiet').length
  const day = outcomesOf(counted.day)
  return {
    now: utc(now),
    verdict: verdictOf({
      unwatchedShards: unwatched.length,
      late: { ...lateCount, oldestMs: live.oldestLateAt === null ? null : now - live.oldestLateAt },
      failing,
      lostNodes: lost,
      quietNodes: quiet,
      ran: day.completed + day.permanentlyFailed + day.cancelled,
      skipped: day.skipped,
      missed: day.missed,
      audit: auditOf(present.audit, now),
    }),
    runs: {
      pending: { count: live.pending, atLeast: live.isDueCut },
      running: { count: live.running, atLeast: live.isDueCut },
      retrying: { count: live.retrying, atLeast: live.isDueCut || live.isAheadCut },
      late: { ...lateCount, oldestDueAt: live.oldestLateAt === null ? null : utc(live.oldestLateAt) },
    },
    places: placesOf(nodes),
    tasks: {
      total: upTo(tasks.total),
      paused: { ...upTo(tasks.paused), since: tasks.pausedSince === null ? null : utc(tasks.pausedSince) },
      failing,
    },
    lastDay: { ...day, isComplete: counted.isDayComplete },
    minutes: minutesOf(counted, now),
    next: {
      ...ahead,
      minutes: ahead.minutes.map(({ minute, count }) => ({ at: utc(minute), count })),
    },
    audit: presentAudit(present.audit),
    nodes: { alive: nodes.filter(({ state }) => state === 'alive').length, quiet, lost },
    shards: {
      total: SHARD_COUNT,
      unwatched: unwatched.length,
      unwatchedSince: unwatched.length === 0 ? null : utc(Math.min(...unwatched.map((s) => s.watchedUntil))),
    },
  }
}

/** What the verdict says about the audit. Before the first round has ended it says nothing. */
const auditOf = (audit: AuditSummary | undefined, now: number) => ({
  repaired: audit?.repaired ?? 0,
  unrepaired: audit?.unrepaired ?? 0,
  silentMs: audit?.roundEndedAt == null ? null : now - audit.roundEndedAt,
})

interface Present {
  readonly live: LiveCounts
  readonly failed: readonly FailedTask[]
  readonly tasks: { readonly total: number; readonly paused: number; readonly pausedSince: number | null }
  readonly ahead: Forecast
  readonly audit: AuditSummary | undefined
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
  return { live, tasks, failed, audit, ahead: await forecast(tx, projectId, now) }
}

interface Counts {
  readonly day: readonly Tally[]
  /** Up to here every minute was counted, or is counted here. */
  readonly isDayComplete: boolean
  /** Minutes before this one were counted by the tally, those from `since` on are counted here. */
  readonly countedUntil: number
  readonly since: number
}

/** Minutes that the tally has counted, and, from history itself, the few that it has not come to yet. */
async function countHistory(tx: Queryable, projectId: string, now: number): Promise<Counts> {
  const [progress] = await tx.run(readProgress())
  const countedUntil = progress?.countedUntil ?? 0
  const since = Math.max(countedUntil, minuteOf(now) - MAX_UNCOUNTED_MINUTES * MINUTE_MS)
  const tallies = await tx.run(readTallies({ projectId, from: now - DAY_MS }))
  const latest = talliesOf(await tx.run(groupRuns({ from: since, until: now + MINUTE_MS })))
  const day = [
    ...tallies.filter(({ minute }) => minute < since),
    ...latest.filter((tally) => tally.projectId === projectId),
  ]
  return { day, isDayComplete: since === countedUntil, countedUntil, since }
}

const minuteOf = (at: number): number => Math.floor(at / MINUTE_MS) * MINUTE_MS

function minutesOf({ day, countedUntil, since }: Counts, now: number): Stats['minutes'] {
  const byMinute = new Map(day.map((tally) => [tally.minute, tally]))
  const last = minuteOf(now)
  return Array.from({ length: MINUTES_SHOWN }, (_, i) => {
    const minute = last - (MINUTES_SHOWN - 1 - i) * MINUTE_MS
    const tally = byMinute.get(minute)
    const isCounted = minute < countedUntil || minute >= since
    return { at: utc(minute), ...outcomesOf(tally ? [tally] : []), isCounted }
  })
}

function outcomesOf(tallies: readonly Tally[]): Omit<Stats['lastDay'], 'isComplete'> {
  const sum = (of: (tally: Tally) => number) => tallies.reduce((total, tally) => total + of(tally), 0)
  return {
    completed: sum((tally) => tally.completed),
    permanentlyFailed: sum((tally) => tally.permanentlyFailed),
    cancelled: sum((tally) => tally.cancelled),
    skipped: sum((tally) => tally.skipped),
    missed: sum((tally) => tally.missed),
    latenessMs: latenessOf(addBuckets(tallies.map(({ late }) => late))),
  }
}

function latenessOf(buckets: LatenessBuckets): Stats['lastDay']['latenessMs'] {
  const [p50, p99] = [latenessAt(buckets, 0.5), latenessAt(buckets, 0.99)]
  return p50 === null || p99 === null ? null : { p50, p99 }
}

const upTo = (count: number): Counted => ({ count, atLeast: count >= MAX_TASKS_COUNTED })

function placesOf(nodes: readonly NodeView[]): Stats['places'] {
  const living = nodes.filter(({ state }) => state !== 'dead')
  const count = living.reduce((sum, { busy }) => sum + busy.count, 0)
  return {
    total: living.reduce((sum, { concurrency }) => sum + concurrency, 0),
    busy: { count, atLeast: living.some(({ busy }) => busy.atLeast) },
  }
}

/** Of the tasks that failed lately those whose latest run did, and for how many runs they have been failing. */
function failingOf(failed: readonly FailedTask[]): Stats['tasks']['failing'] {
  const failing = failed.flatMap(({ taskId, taskName, failedAt, states, dueAt }) => {
    const success = states.indexOf('completed')
    const failures = success < 0 ? states.length : success
    const since = dueAt[failures - 1]
    if (since === undefined) return []
    return { taskId, taskName, failures, since: utc(since), lastFailedAt: utc(failedAt) }
  })
  const atLeast = failed[0]?.isCut ?? false
  return { count: failing.length, atLeast, items: failing.slice(0, FAILING_SHOWN) }
}
