import { expect, test } from 'vitest'
import { TASK_DEFAULTS } from '../task/field-list.ts'
import type { TaskDefinition } from '../task/task.ts'
import { whyNow } from './now.ts'
import type { LiveRun, NowCase } from './now-case.ts'

const NOW = Date.UTC(2026, 5, 1)
const S = 1_000

const definition = (changes: Partial<TaskDefinition> = {}): TaskDefinition =>
  ({
    action: { type: 'sleep', duration: '0s' },
    schedule: { type: 'every', interval: '1h' },
    anchorAt: '2026-01-01T00:00:00Z',
    ...TASK_DEFAULTS,
    traceparent: null,
    ...changes,
  }) as TaskDefinition

const run = (changes: Partial<LiveRun> = {}): LiveRun => ({
  runId: 'r1',
  kind: 'occurrence',
  state: 'scheduled',
  scheduledFor: NOW - 10 * S,
  wakeAt: NOW - 10 * S,
  attempt: 1,
  workerId: null,
  claimedAt: null,
  isCancelled: false,
  ...changes,
})

const TASK = '01a1e128-d49d-7000-92ca-b285fcbd8a00'

const aCase = (changes: Partial<NowCase> = {}): NowCase => ({
  taskId: TASK,
  now: NOW,
  definition: definition(),
  createdAt: NOW - 86_400 * S,
  pausedAt: null,
  pauseReason: null,
  resumeAt: null,
  cancelledAt: null,
  live: [],
  files: null,
  last: null,
  waiting: {
    queue: 'default',
    queuePausedAt: null,
    queueLimit: null,
    queueHeld: 0,
    queueRate: null,
    queueOpensAt: null,
    projectLimit: null,
    projectHeld: 0,
    projectRate: null,
    projectOpensAt: null,
    key: null,
    keyLimit: null,
    keyHeld: 0,
    keyRate: null,
    keyOpensAt: null,
    labels: [],
    handler: null,
    ahead: 0,
    isMissing: false,
  },
  target: null,
  secrets: null,
  workers: { alive: 1, capable: 1, remote: 0, places: 10 },
  watcher: { shard: 1, isWatched: true, watchedUntil: NOW },
  blackout: null,
  latest: null,
  lastEndedAt: null,
  ordinal: 1,
  historyFrom: 0,
  ...changes,
})

const codes = (it: NowCase) => whyNow(it).map(({ code }) => code)

test('there is always a cause, whatever rows are left', () => {
  expect(codes(aCase({ live: [run({ kind: 'resume', state: 'scheduled' })] }))).toEqual(['next_row_lost'])
  expect(codes(aCase({ live: [run({ kind: 'catchup' })] }))).toEqual(['scheduler_behind'])
  expect(codes(aCase())).toEqual(['next_row_lost'])
})

test('an active run does not hide a lost next row, except in a chain or after the last run', () => {
  const live = [run({ state: 'running', claimedAt: NOW - 5 * S })]

  expect(codes(aCase({ live, latest: NOW - 10 * S }))).toEqual(['running', 'next_row_lost'])
  expect(codes(aCase({ live, definition: definition({ maxRuns: 1 }), ordinal: 2 }))).toEqual(['running'])
  expect(
    codes(aCase({ live, definition: definition({ schedule: { type: 'delay', interval: '1h' } }) })),
  ).toEqual(['running'])
})

test('a run that waits for the end of a blackout shows the blackout as the cause', () => {
  const live = [run({ state: 'deferred', wakeAt: NOW + 60 * S }), run({ runId: 'r2', wakeAt: NOW + 90 * S })]

  expect(whyNow(aCase({ live }))).toMatchObject([
    { code: 'blackout', facts: { runId: 'r1', until: NOW + 60 * S } },
  ])
})

test('a paused task says until when and why', () => {
  const [cause] = whyNow(aCase({ pausedAt: NOW - S, resumeAt: NOW + S, pauseReason: 'deploy' }))

  expect(cause).toMatchObject({ code: 'paused', facts: { until: NOW + S, reason: 'deploy' } })
  expect(cause?.sentence).toContain('(deploy)')
})

test('obstacles are shown before a run is due, and not after the task was cancelled', () => {
  const closed = { ...aCase().waiting, queuePausedAt: NOW - S }
  const watcher = { shard: 1, isWatched: false, watchedUntil: NOW - 9 * S }
  const live = [run({ wakeAt: NOW + 60 * S })]

  expect(codes(aCase({ live, waiting: closed, watcher }))).toEqual([
    'not_due',
    'queue_paused',
    'shard_unwatched',
  ])
  expect(codes(aCase({ cancelledAt: NOW - S, waiting: closed, watcher }))).toEqual(['cancelled'])
})

test('while a run waits, the next due instant is not shown as a cause', () => {
  const next = run({ runId: 'r2', scheduledFor: NOW + 50 * S, wakeAt: NOW + 50 * S })
  const codes = (changes: Partial<NowCase>) => whyNow(aCase(changes)).map(({ code }) => code)

  expect(codes({ live: [next] })).toEqual(['not_due'])
  for (const state of ['running', 'pending', 'retrying', 'held', 'deferred'] as const)
    expect([state, codes({ live: [run({ state }), next] }).includes('not_due')]).toEqual([state, false])
})

test('a blackout in force is shown in addition to not_due', () => {
  const next = run({ scheduledFor: NOW + 50 * S, wakeAt: NOW + 50 * S })
  const blackout = { name: 'freeze', effect: 'skip' as const, until: NOW + 3_600 * S }

  expect(whyNow(aCase({ live: [next], blackout }))).toMatchObject([
    { code: 'not_due' },
    { code: 'blackout', facts: { name: 'freeze', until: NOW + 3_600 * S } },
  ])
})

test('advice is a command that can be typed as it stands', () => {
  const waiting = {
    ...aCase().waiting,
    queue: 'reports',
    queuePausedAt: NOW - S,
    queueLimit: 2,
    queueHeld: 2,
  }
  const blackout = { name: "new year's eve", effect: 'skip', until: NOW + S } as const
  const advice = whyNow(aCase({ pausedAt: NOW - S, waiting, blackout })).map((cause) => cause.advice)

  expect(advice).toEqual([
    `To resume it: belfry task resume ${TASK}. To run it once without resuming: belfry task run ${TASK}`,
    `To remove it: belfry blackout remove 'new year'\\''s eve'. To run the task now: belfry task run ${TASK}`,
    'To resume the queue: belfry queue resume reports',
    'Wait for a free slot, or raise the limit: belfry queue limit reports 4',
  ])
})

test('a task that refers to secrets shows missing secrets or that no worker can read them', () => {
  const live = [run({ state: 'pending' })]

  expect(codes(aCase({ live, secrets: { missing: [], isReadable: false } }))[0]).toBe('no_secrets_key')
  const ahead = aCase({
    live: [run({ wakeAt: NOW + S })],
    secrets: { missing: ['A', 'B'], isReadable: true },
  })
  expect(whyNow(ahead)[1]).toMatchObject({
    code: 'secret_missing',
    sentence: 'The task uses the secrets A, B, which do not exist; its runs fail.',
    advice: 'To set it: belfry secret set A',
  })
})
