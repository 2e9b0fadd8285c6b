import { expect, onTestFinished, test, vi } from 'vitest'
import { aDefinition } from '../../test/support/agenda.ts'
import { CronStepper } from '../core/schedule/cron-stepper.ts'
import { dueAt, MAX_COUNTED } from '../core/schedule/occurrences.ts'
import { TASK_DEFAULTS } from '../core/task/field-list.ts'
import { MAX_QUEUED, planOf, type TaskDefinition } from '../core/task/task.ts'
import { JUST_RUN } from '../store/agenda/fire.ts'
import type { DueRow } from '../store/agenda/look-ahead.ts'
import { type DueCase, decide } from './decide.ts'

const NOON = Date.UTC(2026, 10, 16, 12)
const MINUTE = 60_000
const HOUR = 60 * MINUTE

const hourly = aDefinition({ schedule: { type: 'cron', expression: '0 * * * *', timezone: 'UTC' } })

function due(
  definition: TaskDefinition,
  changes: Partial<Omit<DueCase, 'row'>> & { row?: Partial<DueRow> } = {},
): DueCase {
  const row: DueRow = {
    runId: 'run',
    taskId: 'task',
    shard: 0,
    kind: 'occurrence',
    state: 'scheduled',
    wakeAt: NOON,
    scheduledFor: NOON,
    version: 1,
    ordinal: 1,
    fence: 0,
    attempt: 0,
    losses: 0,
    lane: 0,
    priority: 0,
    ...changes.row,
  }
  const watched = { missedIn: null, misfireGraceMs: 10_000, newId: () => 'new' }
  return { definition, now: NOON, ...watched, ...changes, row }
}

/** No scheduler was running from just before noon until now. */
const missedUntil = (now: number) => ({ now, missedIn: { from: NOON - 1, to: now } })

test('a one-off runs without a further decision', () => {
  expect(decide(due(aDefinition()))).toBe(JUST_RUN)
})

test('a retry runs without a further decision, since its run is already active', () => {
  expect(decide(due(hourly, { row: { state: 'retrying' } }))).toBe(JUST_RUN)
})

test('a recurring run is exclusive and is followed by the next occurrence', () => {
  expect(decide(due(hourly))).toEqual({
    ...JUST_RUN,
    exclusive: true,
    next: { runId: 'new', at: NOON + HOUR },
  })
})

test('the policy allow lets runs overlap', () => {
  expect(decide(due({ ...hourly, overlap: 'allow' })).exclusive).toBe(false)
})

test('the last run of maxRuns has a next row only in case it does not run', () => {
  expect(decide(due({ ...hourly, maxRuns: 3 }, { row: { ordinal: 2 } })).isLast).toBe(false)
  expect(decide(due({ ...hourly, maxRuns: 3 }, { row: { ordinal: 3 } }))).toMatchObject({
    isLast: true,
    next: { at: NOON + HOUR },
  })
})

test('no occurrence follows after endAt', () => {
  expect(decide(due({ ...hourly, endAt: '2026-11-16T12:30:00Z' })).next).toBeNull()
})

test('a run that is late because of load is never a misfire', () => {
  const late = decide(due(hourly, { now: NOON + 3 * HOUR }))

  expect(late).toEqual({ ...JUST_RUN, exclusive: true, next: { runId: 'new', at: NOON + HOUR } })
})

const everySecond = aDefinition({ schedule: { type: 'cron', expression: '* * * * * *', timezone: 'UTC' } })
const misfiring = (policy: TaskDefinition['misfire']['policy'], definition = everySecond) => ({
  ...definition,
  misfire: { ...TASK_DEFAULTS.misfire, policy },
})

test.each([4, 25, 98])(
  'of the occurrences missed in %i s the newest runs, and all others are misfires',
  (seconds) => {
    const to = NOON + seconds * 1_000 + 500

    expect(decide(due(everySecond, missedUntil(to)))).toMatchObject({
      runFor: NOON + seconds * 1_000,
      skip: { reason: 'misfire', until: NOON + (seconds - 1) * 1_000, count: seconds },
    })
  },
)

test('an occurrence due after the unwatched period is late, not missed, even if it is decided much later', () => {
  const missedIn = { from: NOON - 1, to: NOON + 2_500 }

  expect(decide(due(everySecond, { now: NOON + 90_000, missedIn }))).toMatchObject({
    runFor: NOON + 2_000,
    skip: { until: NOON + 1_000, count: 2 },
    next: { at: NOON + 3_000 },
  })
})

test.each(['skip', 'fail'] as const)(
  'the policy %s runs the newest occurrence if the unwatched period was within the grace',
  (policy) => {
    const stretch = (ms: number) => ({
      now: NOON + 5_500,
      missedIn: { from: NOON + 5_500 - ms, to: NOON + 5_500 },
    })

    expect(decide(due(misfiring(policy), stretch(10_000)))).toMatchObject({
      runFor: NOON + 5_000,
      skip: { reason: 'misfire', count: 5 },
      catchUp: null,
    })
    expect(decide(due(misfiring(policy), stretch(10_001)))).toMatchObject({
      runFor: null,
      skip: { reason: 'misfire', until: NOON + 5_000, count: 6 },
    })
  },
)

test('the misfire window does not apply to an unwatched period within the grace', () => {
  const narrow = { ...everySecond, misfire: { ...TASK_DEFAULTS.misfire, window: '0s' } }

  expect(decide(due(narrow, missedUntil(NOON + 9_500)))).toMatchObject({ runFor: NOON + 9_000 })
  expect(decide(due(narrow, missedUntil(NOON + 10_500)))).toMatchObject({ runFor: null, skip: { count: 11 } })
})

test('run_all runs several missed occurrences as catch-up, and a single one simply runs late', () => {
  const several = decide(due(misfiring('run_all'), missedUntil(NOON + 3_500)))
  const alone = decide(due(misfiring('run_all'), missedUntil(NOON + 500)))

  expect(several.catchUp?.runs.map(({ at }) => at - NOON)).toEqual([0, 1_000, 2_000, 3_000])
  expect(alone).toMatchObject({ catchUp: null, skip: null, runFor: null, next: { at: NOON + 1_000 } })
})

test('a blackout within an unwatched period leaves one newest occurrence, after the blackout', () => {
  const blackouts = {
    at: (at: number) =>
      at >= NOON + 10_000 && at < NOON + 15_000 ? { effect: 'skip' as const, until: NOON + 15_000 } : null,
    nextAfter: (at: number) => (at < NOON + 10_000 ? NOON + 10_000 : null),
  }
  const before = { ...missedUntil(NOON + 20_500), blackouts }

  expect(decide(due(everySecond, before))).toMatchObject({
    runFor: null,
    skip: { reason: 'misfire', until: NOON + 9_000, count: 10 },
    next: { at: NOON + 10_000 },
  })
  expect(decide(due(everySecond, { ...before, row: { scheduledFor: NOON + 15_000 } }))).toMatchObject({
    runFor: NOON + 20_000,
    skip: { reason: 'misfire', count: 5 },
  })
  expect(decide(due(everySecond, { ...missedUntil(NOON + 14_500), blackouts }))).toMatchObject({
    runFor: NOON + 9_000,
  })
})

test('after an outage the latest missed occurrence runs, and the earlier ones are one skip with their count', () => {
  const decision = decide(due(hourly, missedUntil(NOON + 5.5 * HOUR)))

  expect(decision).toEqual({
    exclusive: true,
    overlap: null,
    catchUp: null,
    isLast: false,
    runFor: NOON + 5 * HOUR,
    skip: { runId: 'new', reason: 'misfire', until: NOON + 4 * HOUR, count: 5 },
    next: { runId: 'new', at: NOON + 6 * HOUR },
  })
})

test('a single missed occurrence runs late', () => {
  expect(decide(due(hourly, missedUntil(NOON + HOUR / 2)))).toMatchObject({
    skip: null,
    runFor: null,
    next: { at: NOON + HOUR },
  })
})

test('the policy skip records all missed occurrences and continues with the next', () => {
  const definition = { ...hourly, misfire: { ...TASK_DEFAULTS.misfire, policy: 'skip' } } as const

  expect(decide(due(definition, missedUntil(NOON + 5.5 * HOUR)))).toMatchObject({
    runFor: null,
    skip: { reason: 'misfire', until: NOON + 5 * HOUR, count: 6 },
    next: { at: NOON + 6 * HOUR },
  })
})

test('an occurrence missed longer ago than the window does not run', () => {
  const once = aDefinition({ misfire: { ...TASK_DEFAULTS.misfire, window: '1h' } })

  expect(decide(due(once, missedUntil(NOON + 2 * HOUR)))).toMatchObject({
    runFor: null,
    skip: { reason: 'misfire', until: NOON, count: 1 },
  })
  expect(decide(due(once, missedUntil(NOON + HOUR / 2)))).toMatchObject({ skip: null })
})

test('a day of missed seconds is decided without counting each', () => {
  const inBerlin = aDefinition({
    schedule: { type: 'cron', expression: '* * * * * *', timezone: 'Europe/Berlin' },
  })
  const steps = vi.spyOn(CronStepper.prototype, 'next')
  onTestFinished(() => steps.mockRestore())

  const decision = decide(due(inBerlin, missedUntil(NOON + 23 * HOUR + 500)))

  expect(decision).toMatchObject({
    runFor: NOON + 23 * HOUR,
    skip: { count: null, until: NOON + 23 * HOUR - 1_000 },
  })
  expect(steps.mock.calls.length).toBeLessThan(2 * MAX_COUNTED)
})

test('a delay that is skipped starts again one interval from now', () => {
  const delay = aDefinition({ schedule: { type: 'delay', interval: '10s' } })

  expect(decide(due(delay, { now: NOON + 5 })).next).toEqual({ runId: 'new', at: NOON + 10_005 })
})

test('a manual run is exclusive, and no occurrence follows it', () => {
  expect(decide(due(hourly, { row: { kind: 'manual' } }))).toEqual({ ...JUST_RUN, exclusive: true })
})

test('a delay has no occurrence after its endAt, even when this one is skipped', () => {
  const delay = aDefinition({
    schedule: { type: 'delay', interval: '1h' },
    endAt: new Date(NOON + MINUTE).toISOString(),
  })

  expect(decide(due(delay)).next).toBeNull()
})

const runAll = (changes: Partial<TaskDefinition['misfire']> = {}) => ({
  ...hourly,
  misfire: { ...TASK_DEFAULTS.misfire, policy: 'run_all' as const, ...changes },
})

test('run_all runs each missed occurrence as catch-up at the rate and continues with the next', () => {
  const decision = decide(due(runAll({ rate: 2 }), missedUntil(NOON + 2.5 * HOUR)))

  expect(decision).toMatchObject({ skip: null, runFor: null, isLast: false, next: { at: NOON + 3 * HOUR } })
  expect(decision.catchUp?.runs).toEqual(
    [0, 1, 2].map((n) => ({ runId: 'new', at: NOON + n * HOUR, wakeAt: NOON + 2.5 * HOUR + n * 500 })),
  )
})

test('run_all skips occurrences older than the window, and all but the latest beyond the cap', () => {
  const case_ = missedUntil(NOON + 5.5 * HOUR)
  const at = (decision: ReturnType<typeof decide>) =>
    decision.catchUp?.runs.map(({ at }) => (at - NOON) / HOUR)

  const capped = decide(due(runAll({ cap: 2 }), case_))
  expect(at(capped)).toEqual([4, 5])
  expect(capped.skip).toMatchObject({ reason: 'misfire', until: NOON + 3 * HOUR, count: 4 })

  const windowed = decide(due(runAll({ window: '2h' }), case_))
  expect(at(windowed)).toEqual([4, 5])
  expect(windowed.skip).toMatchObject({ until: NOON + 3 * HOUR, count: 4 })

  const old = decide(due(runAll({ window: '1m' }), case_))
  expect(old).toMatchObject({ catchUp: null, skip: { until: NOON + 5 * HOUR, count: 6 } })
})

test('run_all makes no more catch-up runs than maxRuns leaves, and then the task has ended', () => {
  const decision = decide(
    due({ ...runAll(), maxRuns: 3 }, { ...missedUntil(NOON + 5.5 * HOUR), row: { ordinal: 2 } }),
  )

  expect(decision.catchUp?.runs.map(({ at }) => at)).toEqual([NOON, NOON + HOUR])
  expect(decision.isLast).toBe(true)
})

test('the policy fail runs nothing and records the missed occurrences as failed', () => {
  const definition = { ...hourly, misfire: { ...TASK_DEFAULTS.misfire, policy: 'fail' as const } }

  expect(decide(due(definition, missedUntil(NOON + 5.5 * HOUR)))).toMatchObject({
    runFor: null,
    skip: { until: NOON + 5 * HOUR, count: 6 },
    catchUp: { runs: [], hasFailed: true },
    next: { at: NOON + 6 * HOUR },
  })
})

test('a catch-up run waits for its turn and supersedes no run', () => {
  const catchUp = due({ ...hourly, overlap: 'cancel_previous' }, { row: { kind: 'catchup' } })

  expect(decide(catchUp)).toMatchObject({ exclusive: true, next: null, overlap: { supersedes: false } })
  expect(decide(due({ ...hourly, overlap: 'allow' }, { row: { kind: 'catchup' } })).exclusive).toBe(false)
})

test('a run that supersedes the active one waits for its end, however many runs are held', () => {
  const { overlap } = decide(due({ ...hourly, overlap: 'cancel_previous' }))

  expect(overlap).toMatchObject({ supersedes: true, places: MAX_QUEUED })
  expect(decide(due({ ...hourly, overlap: 'queue_one' })).overlap).toMatchObject({ places: 1 })
})

const spread = aDefinition({
  schedule: { type: 'cron', expression: '0 * * * *', timezone: 'UTC' },
  seed: 'spread',
  jitter: '30m',
})
const dueInstantOf = (occurrence: number) => dueAt(planOf(spread), occurrence)

test('jitter delays the next row and leaves its scheduled instant unchanged', () => {
  const wakeAt = dueInstantOf(NOON)

  const { next } = decide(due(spread, { now: wakeAt, row: { wakeAt } }))

  const jitterMs = dueInstantOf(NOON + HOUR) - NOON - HOUR
  expect(jitterMs).toBeGreaterThan(0)
  expect(next).toEqual({ runId: 'new', at: NOON + HOUR, jitterMs })
})

test('a run delayed by jitter is missed only when its delayed instant has passed', () => {
  const wakeAt = dueInstantOf(NOON)
  const late = (ms: number) => decide(due(spread, { ...missedUntil(wakeAt + ms), row: { wakeAt } }))

  expect(late(MINUTE)).toMatchObject({ skip: null, runFor: null })
  expect(
    decide(due(misfiring('skip', spread), { ...missedUntil(wakeAt + MINUTE), row: { wakeAt } })),
  ).toMatchObject({ skip: { until: NOON } })
})

test('after an outage the latest due occurrence runs, not one that jitter still delays', () => {
  const last = NOON + 5 * HOUR
  const before = decide(due(spread, missedUntil(dueInstantOf(last) - 1)))
  const after = decide(due(spread, missedUntil(dueInstantOf(last))))

  expect(before).toMatchObject({ runFor: last - HOUR, next: { at: last } })
  expect(after).toMatchObject({
    runFor: last,
    runForJitterMs: dueInstantOf(last) - last,
    next: { at: last + HOUR },
  })
})

test('a catch-up run keeps its jitter, and is not delayed by it again', () => {
  const spread = { ...runAll({ rate: 2 }), jitter: '30m', seed: 'task' }
  const plan = planOf(spread)
  const now = NOON + 3.7 * HOUR

  const runs = decide(due(spread, missedUntil(now))).catchUp?.runs ?? []

  expect(runs.length).toBeGreaterThanOrEqual(3)
  for (const [n, { at, jitterMs = 0, wakeAt }] of runs.entries()) {
    expect(at + jitterMs).toBe(dueAt(plan, at))
    expect(wakeAt).toBe(now + n * 500)
    expect(wakeAt).toBeGreaterThanOrEqual(dueAt(plan, at))
  }
})
