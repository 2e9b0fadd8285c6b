/** The checker itself: each way in which a story can be wrong is seen, and called by its name. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { check } from './check.ts'
import type { Evidence } from './evidence.ts'
import type { Kind } from './finding.ts'
import {
  asked,
  attempt,
  delivered,
  ended,
  fault,
  HEIR,
  live,
  lived,
  once,
  request,
  skipped,
  story,
  T,
  told,
  turned,
  WORKER,
} from './stories.ts'

const kindsIn = (evidence: Evidence): Kind[] => [...new Set(check(evidence).findings.map(({ kind }) => kind))]

const every = (more = {}) => ({
  schedule: { type: 'every', interval: '100ms' },
  startAt: new Date(T).toISOString(),
  endAt: new Date(T + 300).toISOString(),
  overlap: 'allow',
  ...more,
})

/** A run that failed once, was lost once, and then completed elsewhere. */
const eventful = {
  requests: [asked('a', { ...once(0), retry: { initial: '1s', max: '1s' } })],
  deliveries: [
    delivered('a', 0, { status: 503 }),
    delivered('a', 0, {
      receivedAt: T + 900,
      answeredAt: null,
      goneAt: T + 3_000,
      status: null,
      fence: 3,
      attempt: 2,
    }),
    delivered('a', 0, { receivedAt: T + 2_500, fence: 5, attempt: 3 }),
  ],
  faults: [fault('kill', 1_000, 1_000)],
  tables: {
    attempts: [
      attempt('a', 0),
      attempt('a', 0, { number: 2, fence: 3, outcome: 'worker_lost', endedAt: T + 2_000 }),
    ],
    history: [ended('a', 0, { fence: 5, attempt: 3, losses: 1, endedAt: T + 2_536, workerId: HEIR })],
  },
}

/** Four runs of a task whose runs wait for one another, which begin in this order. */
function inLine(order: readonly number[], more: Partial<Evidence['tables']> = {}) {
  const began = (due: number) => 2 + order.indexOf(due) * 400
  return story({
    requests: [asked('a', every({ overlap: 'queue_all' }))],
    deliveries: order.map((due) =>
      delivered('a', due, { receivedAt: T + began(due) + 2, answeredAt: T + began(due) + 380 }),
    ),
    tables: {
      history: order.map((due) =>
        ended('a', due, { startedAt: T + began(due), endedAt: T + began(due) + 385 }),
      ),
      changes: order.flatMap((due) =>
        turned('a', due, {
          ...(due === 0 ? {} : { held: due + 1 }),
          ...{ began: began(due), gone: began(due) + 385 },
        }),
      ),
      ...more,
    },
  })
}

/** The first run is cancelled for the third one, which also takes the place of the second, while that waits. */
const replacing = {
  requests: [asked('a', every({ overlap: 'cancel_previous', endAt: new Date(T + 200).toISOString() }))],
  deliveries: [
    delivered('a', 0, { answeredAt: null, goneAt: T + 220, status: null }),
    delivered('a', 200, { receivedAt: T + 230 }),
  ],
  tables: {
    history: [
      ended('a', 0, { state: 'cancelled', outcome: 'cancelled', endedAt: T + 220 }),
      skipped('a', 100, 'overlap', { runId: 'a@100', endedAt: T + 201 }),
      ended('a', 200, { startedAt: T + 225, endedAt: T + 265 }),
    ],
    changes: [
      ...turned('a', 0, { began: 2, stopped: 103, gone: 220 }),
      ...turned('a', 100, { held: 101, gone: 201 }),
      ...turned('a', 200, { held: 201, began: 225, gone: 265 }),
    ],
  },
}

const SOUND: Record<string, Evidence> = {
  'a task that ran': story({
    requests: [asked('a', once(0))],
    deliveries: [delivered('a', 0)],
    tables: { history: [ended('a', 0)], changes: lived('a', 0, ['scheduled', 'running', null]) },
  }),
  'a fire that ends while its node gives the shard away': story({
    requests: [asked('a', once(0))],
    deliveries: [delivered('a', 0, { receivedAt: T + 14 })],
    tables: {
      history: [ended('a', 0, { startedAt: T + 12, endedAt: T + 50 })],
      changes: lived('a', 0, ['scheduled', 'running', null]),
      owners: [
        { at: T - 100, shard: 7, owner: WORKER },
        { at: T + 5, shard: 7, owner: null },
      ],
    },
  }),
  'a grid, one of it skipped because another run was active': story({
    requests: [asked('a', every({ overlap: 'skip' }))],
    deliveries: [0, 100, 300].map((due) => delivered('a', due, due === 100 ? { answeredAt: T + 250 } : {})),
    tables: {
      history: [
        ended('a', 0),
        ended('a', 100, { endedAt: T + 255 }),
        skipped('a', 200, 'overlap'),
        ended('a', 300),
      ],
    },
  }),
  'an outage whose occurrences share one row': story({
    requests: [asked('a', every())],
    deliveries: [delivered('a', 300, { receivedAt: T + 70_000 })],
    faults: [fault('kill', -1_000, 69_000)],
    tables: {
      history: [
        skipped('a', 0, 'misfire', { coversUntil: T + 200, endedAt: T + 70_000 }),
        ended('a', 300, { startedAt: T + 70_000, endedAt: T + 70_040 }),
      ],
    },
  }),
  'a run that failed once, was lost once, and completed elsewhere': story(eventful),
  'a chain': story({
    requests: [
      asked('a', {
        schedule: { type: 'delay', interval: '1s' },
        startAt: new Date(T).toISOString(),
        maxRuns: 2,
      }),
    ],
    deliveries: [delivered('a', 0), delivered('a', 1_036)],
    tables: { history: [ended('a', 0), ended('a', 1_036)] },
  }),
  'a cron in Berlin': story({
    requests: [
      asked('a', {
        schedule: { type: 'cron', expression: '*/2 * * * * *', timezone: 'Europe/Berlin' },
        endAt: new Date(T + 3_000).toISOString(),
        overlap: 'allow',
      }),
    ],
    deliveries: [delivered('a', 0), delivered('a', 2_000)],
    tables: { history: [ended('a', 0), ended('a', 2_000)] },
  }),
  'a task that was cancelled in time': story({
    requests: [asked('a', every()), request('cancel_task', 'a', T + 150)],
    deliveries: [delivered('a', 0), delivered('a', 100)],
    tables: { history: [ended('a', 0), ended('a', 100)] },
  }),
  'a task that is paused, and goes on': story({
    requests: [asked('a', every()), request('pause', 'a', T + 50), request('resume', 'a', T + 250)],
    deliveries: [delivered('a', 0), delivered('a', 300)],
    tables: {
      history: [ended('a', 0), skipped('a', 100, 'paused', { coversUntil: T + 200 }), ended('a', 300)],
    },
  }),
  'a trigger': story({
    requests: [asked('a', { schedule: { type: 'manual' } }), request('trigger', 'a', T, { runId: 'a@5' })],
    deliveries: [delivered('a', 5)],
    tables: { history: [ended('a', 5, { kind: 'manual' })] },
  }),
  'two behind a key, one after the other': story({
    requests: [
      asked('a', { ...once(0), concurrencyKey: 'k' }),
      asked('b', { ...once(1), concurrencyKey: 'k' }),
    ],
    deliveries: [delivered('a', 0), delivered('b', 1, { receivedAt: T + 2_000 })],
    tables: { history: [ended('a', 0), ended('b', 1, { startedAt: T + 1_990, endedAt: T + 2_040 })] },
  }),
  'a create that was answered only the second time': story({
    requests: [{ ...asked('a', once(0)), status: null, taskId: null, answeredAt: null }, asked('a', once(0))],
    deliveries: [delivered('a', 0)],
    tables: { history: [ended('a', 0)], tasks: [{ id: 'a', key: null }] },
  }),
  'a task that is not due yet': story({
    requests: [asked('a', once(900_000))],
    tables: { live: [live('a', 900_000)] },
  }),
  'a line of one, and those that found it full': story({
    requests: [asked('a', every({ overlap: 'queue_one' }))],
    deliveries: [
      delivered('a', 0, { answeredAt: T + 350 }),
      delivered('a', 100, { receivedAt: T + 360, answeredAt: T + 390 }),
    ],
    tables: {
      history: [
        ended('a', 0, { endedAt: T + 352 }),
        ended('a', 100, { startedAt: T + 356, endedAt: T + 395 }),
        ...[200, 300].map((due) => skipped('a', due, 'overlap', { runId: `a@${due}` })),
      ],
      changes: [
        ...turned('a', 0, { began: 2, gone: 352 }),
        ...turned('a', 100, { held: 101, began: 356, gone: 395 }),
        ...[200, 300].flatMap((due) => turned('a', due, { gone: due + 1 })),
      ],
    },
  }),
  'a line of all, in order': inLine([0, 100, 200, 300]),
  'runs that took the place of one another, and of one that waited': story(replacing),
  'reports of an end by who no longer held the run': story({
    ...eventful,
    receipts: [told('a', 0, 1, false), told('a', 0, 5, true), told('a', 0, 1, false)],
  }),
}

test.each(Object.entries(SOUND))('nothing is wrong with %s', (_, evidence) => {
  expect(check(evidence).findings).toEqual([])
})

test('what was to be seen and was not makes the verdict unknown', () => {
  expect(check(SOUND['a task that ran'] as Evidence, ['reclaims']).kind).toBe('unknown')
  expect(check(story(eventful), ['reclaims', 'retries', 'repetitions']).kind).toBe('valid')
})

const one = {
  requests: [asked('a', once(0))],
  deliveries: [delivered('a', 0)],
  tables: { history: [ended('a', 0)] },
}
const behindKey = (more = {}) => [
  asked('a', { ...once(0), concurrencyKey: 'k', ...more }),
  asked('b', { ...once(1), concurrencyKey: 'k', ...more }),
]

const WRONG: [what: string, kind: Kind, evidence: Evidence][] = [
  ['an occurrence without a trace', 'lost', story({ ...one, deliveries: [], tables: {} })],
  [
    'one instant of a grid that is missing',
    'lost',
    story({
      requests: [asked('a', every())],
      deliveries: [0, 100, 300].map((due) => delivered('a', due)),
      tables: { history: [0, 100, 300].map((due) => ended('a', due)) },
    }),
  ],
  [
    'a chain that breaks off',
    'lost',
    story({
      requests: [
        asked('a', { schedule: { type: 'delay', interval: '1s' }, startAt: new Date(T).toISOString() }),
      ],
      deliveries: [delivered('a', 0)],
      tables: { history: [ended('a', 0)] },
    }),
  ],
  ['an accepted task that is not there', 'lost', story({ ...one, tables: { ...one.tables, tasks: [] } })],
  [
    'a run that lies about',
    'lost',
    story({ ...one, deliveries: [], tables: { live: [live('a', 0, { state: 'pending' })] } }),
  ],
  [
    'a retry that is never made',
    'lost',
    story({
      ...one,
      deliveries: [delivered('a', 0, { status: 503 })],
      tables: {
        live: [live('a', 0, { state: 'retrying', fence: 1, attempt: 1 })],
        attempts: [attempt('a', 0)],
      },
    }),
  ],
  [
    'a trigger that came to nothing',
    'lost',
    story({
      requests: [asked('a', { schedule: { type: 'manual' } }), request('trigger', 'a', T, { runId: 'a@5' })],
    }),
  ],
  [
    'a skip for overlap with nothing',
    'lost',
    story({
      requests: [asked('a', { ...once(0), overlap: 'skip' })],
      tables: { history: [skipped('a', 0, 'overlap')] },
    }),
  ],
  [
    'a skip for overlap with what had ended',
    'lost',
    story({
      requests: [
        asked(
          'a',
          every({
            overlap: 'skip',
            endAt: new Date(T + 3_000).toISOString(),
            schedule: { type: 'every', interval: '3s' },
          }),
        ),
      ],
      deliveries: [delivered('a', 0)],
      tables: {
        history: [ended('a', 0), skipped('a', 3_000, 'overlap')],
        changes: [
          ...lived('a', 0, ['scheduled', 'running', null]),
          ...lived('a', 3_000, ['scheduled', null], { runId: 'a@3000!' }),
        ],
      },
    }),
  ],
  [
    'a skip for a reason that is none',
    'lost',
    story({ ...one, deliveries: [], tables: { history: [skipped('a', 0, 'bad luck')] } }),
  ],
  [
    'a misfire while all was well',
    'lost',
    story({ ...one, deliveries: [], tables: { history: [skipped('a', 0, 'misfire')] } }),
  ],
  [
    'a run off the grid',
    'unexpected',
    story({
      requests: [asked('a', every())],
      deliveries: [0, 100, 150, 200, 300].map((due) => delivered('a', due)),
      tables: { history: [0, 100, 150, 200, 300].map((due) => ended('a', due)) },
    }),
  ],
  [
    'a run after the task was cancelled',
    'unexpected',
    story({
      requests: [
        asked('a', {
          ...every(),
          endAt: new Date(T + 2_000).toISOString(),
          schedule: { type: 'every', interval: '1s' },
        }),
        request('cancel_task', 'a', T + 50),
      ],
      deliveries: [delivered('a', 0), delivered('a', 2_000)],
      tables: { history: [ended('a', 0), ended('a', 2_000)] },
    }),
  ],
  [
    'a trigger that nobody pulled',
    'unexpected',
    story({
      ...one,
      deliveries: [delivered('a', 0), delivered('a', 5)],
      tables: { history: [ended('a', 0), ended('a', 5, { kind: 'manual' })] },
    }),
  ],
  [
    'a task that nobody asked for',
    'unexpected',
    story({
      ...one,
      tables: {
        ...one.tables,
        tasks: [
          { id: 'a', key: null },
          { id: 'z', key: null },
        ],
      },
    }),
  ],
  [
    'two tasks for one idempotency key',
    'doubled',
    story({
      requests: [asked('a', once(0)), { ...asked('b', once(0)), idempotencyKey: 'a' }],
      deliveries: [delivered('a', 0), delivered('b', 0)],
      tables: { history: [ended('a', 0), ended('b', 0)] },
    }),
  ],
  [
    'one attempt that arrives twice',
    'doubled',
    story({ ...one, deliveries: [delivered('a', 0), delivered('a', 0, { receivedAt: T + 60 })] }),
  ],
  [
    'a run that is done again after it was done',
    'doubled',
    story({
      ...one,
      deliveries: [delivered('a', 0), delivered('a', 0, { receivedAt: T + 60, fence: 2, attempt: 2 })],
      tables: { history: [ended('a', 0, { fence: 2, attempt: 2, endedAt: T + 95 })] },
    }),
  ],
  ['a run taken from a worker to which nothing happened', 'doubled', story({ ...eventful, faults: [] })],
  [
    'two workers with one run',
    'two_winners',
    story({
      ...one,
      deliveries: [
        delivered('a', 0, { answeredAt: T + 500 }),
        delivered('a', 0, { receivedAt: T + 60, fence: 2, attempt: 2 }),
      ],
      tables: { history: [ended('a', 0, { fence: 2, attempt: 2, endedAt: T + 95 })] },
    }),
  ],
  [
    'a row that goes from one worker to another',
    'two_winners',
    story({
      ...one,
      tables: {
        ...one.tables,
        changes: lived('a', 0, ['scheduled', 'running', 'running', null]).map((change, i) =>
          i === 2 ? { ...change, workerId: HEIR } : change,
        ),
      },
    }),
  ],
  [
    'two attempts with one fence',
    'fence_not_growing',
    story({
      ...eventful,
      deliveries: eventful.deliveries.map((delivery) => ({ ...delivery, fence: 1 })),
    }),
  ],
  [
    'fences of attempts that fall',
    'fence_not_growing',
    story({
      ...eventful,
      deliveries: [],
      requests: [asked('a', { ...once(0), action: { type: 'sleep' } })],
      tables: {
        ...eventful.tables,
        attempts: [
          attempt('a', 0, { fence: 4 }),
          attempt('a', 0, { number: 2, fence: 3, outcome: 'worker_lost', endedAt: T + 2_000 }),
        ],
      },
    }),
  ],
  [
    'a row whose fence falls',
    'fence_not_growing',
    story({
      ...one,
      tables: {
        ...one.tables,
        changes: lived('a', 0, ['scheduled', 'running', null]).map((change) => ({
          ...change,
          fenceBefore: 9,
        })),
      },
    }),
  ],
  [
    'an end that fits an earlier fence',
    'stale_accepted',
    story({
      ...one,
      deliveries: [
        delivered('a', 0),
        delivered('a', 0, { receivedAt: T + 20, answeredAt: T + 900, fence: 3, attempt: 2 }),
      ],
      faults: [fault('pause', -1, 20)],
      tables: {
        attempts: [attempt('a', 0, { outcome: 'worker_lost', endedAt: T + 10 })],
        history: [ended('a', 0, { fence: 3, attempt: 2, losses: 1 })],
      },
    }),
  ],
  [
    'a claim by the dead',
    'stale_accepted',
    story({
      ...one,
      tables: {
        ...one.tables,
        changes: lived('a', 0, ['scheduled', 'running', null]),
        nodes: [{ id: WORKER, process: 1, isScheduler: true, deadAt: T - 1_000 }],
      },
    }),
  ],
  [
    'a fire in a shard that is somebody else’s',
    'stale_accepted',
    story({
      ...one,
      tables: {
        ...one.tables,
        changes: lived('a', 0, ['scheduled', 'running', null]),
        owners: [
          { at: T - 9_000, shard: 7, owner: WORKER },
          { at: T - 100, shard: 7, owner: HEIR },
        ],
      },
    }),
  ],
  [
    'a fire into ready in a shard that is somebody else’s',
    'stale_accepted',
    story({
      requests: [asked('a', once(0)), asked('b', once(-400))],
      deliveries: [delivered('a', 0), delivered('b', -400)],
      tables: {
        history: [ended('b', -400), ended('a', 0)],
        changes: [
          ...lived('b', -400, ['scheduled', 'running', null]),
          ...lived('a', 0, ['scheduled', 'pending']),
          ...lived('a', 0, ['scheduled', 'pending', 'running', null])
            .slice(2)
            .map((change) => ({ ...change, backend: 200 })),
        ],
        owners: [
          { at: T - 9_000, shard: 7, owner: WORKER },
          { at: T - 100, shard: 7, owner: HEIR },
        ],
      },
    }),
  ],
  [
    'a delivery ahead of time',
    'early',
    story({ ...one, deliveries: [delivered('a', 0, { receivedAt: T - 6 })] }),
  ],
  [
    'a retry that does not wait',
    'early',
    story({
      ...eventful,
      deliveries: eventful.deliveries.map((delivery, i) =>
        i === 0 ? { ...delivery, retryAfterMs: 1_000 } : delivery,
      ),
    }),
  ],
  [
    'a nap that begins before its time',
    'early',
    story({
      requests: [asked('a', { ...once(0), action: { type: 'sleep' } })],
      tables: { history: [ended('a', 0, { startedAt: T - 1 })] },
    }),
  ],
  [
    'a delivery beyond the bound',
    'late',
    story({
      ...one,
      deliveries: [delivered('a', 0, { receivedAt: T + 1_500 })],
      tables: { history: [ended('a', 0, { startedAt: T + 1_490, endedAt: T + 1_540 })] },
    }),
  ],
  [
    'a delivery beyond what the fault explains',
    'late',
    story({
      ...one,
      deliveries: [delivered('a', 0, { receivedAt: T + 5_000 })],
      faults: [fault('kill', 0, 1_000)],
      tables: { history: [ended('a', 0, { startedAt: T + 4_990, endedAt: T + 5_040 })] },
    }),
  ],
  [
    'a retry beyond its ceiling',
    'late',
    story({
      ...eventful,
      faults: [],
      deliveries: [
        delivered('a', 0, { status: 503 }),
        delivered('a', 0, { receivedAt: T + 9_000, fence: 3, attempt: 2 }),
      ],
      tables: {
        attempts: [attempt('a', 0)],
        history: [ended('a', 0, { fence: 3, attempt: 2, endedAt: T + 9_040 })],
      },
    }),
  ],
  [
    'two rows of history',
    'history_doubled',
    story({ ...one, tables: { history: [ended('a', 0), ended('a', 0)] } }),
  ],
  [
    'two runs for one occurrence',
    'history_doubled',
    story({
      ...one,
      deliveries: [delivered('a', 0), delivered('a', 0, { messageId: 'other' })],
      tables: { history: [ended('a', 0), ended('a', 0, { runId: 'other' })] },
    }),
  ],
  [
    'an attempt that is recorded twice',
    'history_doubled',
    story({
      ...eventful,
      tables: { ...eventful.tables, attempts: [attempt('a', 0), ...eventful.tables.attempts] },
    }),
  ],
  ['a delivery without history', 'history_missing', story({ ...one, tables: {} })],
  [
    'a nap without history',
    'history_missing',
    story({
      requests: [asked('a', { ...once(0), action: { type: 'sleep' } })],
      tables: { changes: lived('a', 0, ['scheduled', 'running', null]) },
    }),
  ],
  [
    'an attempt that is not recorded',
    'history_missing',
    story({
      ...eventful,
      tables: {
        ...eventful.tables,
        attempts: eventful.tables.attempts.slice(1).map((row) => ({ ...row, number: 2 })),
      },
    }),
  ],
  [
    'completed, and the sink said no',
    'inconsistent',
    story({ ...one, deliveries: [delivered('a', 0, { status: 500 })] }),
  ],
  ['completed, and the sink never saw it', 'inconsistent', story({ ...one, deliveries: [] })],
  [
    'completed before the sink had answered',
    'inconsistent',
    story({ ...one, deliveries: [delivered('a', 0, { answeredAt: T + 400 })] }),
  ],
  [
    'failed, and the sink said yes',
    'inconsistent',
    story({
      ...one,
      tables: { history: [ended('a', 0, { state: 'permanently_failed', outcome: 'failed' })] },
    }),
  ],
  [
    'completed, and its last attempt failed',
    'inconsistent',
    story({
      ...one,
      deliveries: [delivered('a', 0, { status: 500 })],
      tables: { history: [ended('a', 0, { outcome: 'failed' })] },
    }),
  ],
  [
    'ended, and alive',
    'inconsistent',
    story({ ...one, tables: { ...one.tables, live: [live('a', 0, { state: 'running' })] } }),
  ],
  [
    'a loss that was not counted',
    'inconsistent',
    story({
      ...eventful,
      tables: { ...eventful.tables, history: eventful.tables.history.map((row) => ({ ...row, losses: 0 })) },
    }),
  ],
  [
    'a delivery with the number of another attempt',
    'inconsistent',
    story({ ...one, deliveries: [delivered('a', 0, { attempt: 2 })] }),
  ],
  [
    'a delivery for another instant than its row',
    'inconsistent',
    story({ ...one, deliveries: [delivered('a', 0, { scheduledFor: T + 1 })] }),
  ],
  [
    'a move that does not exist',
    'inconsistent',
    story({
      ...one,
      tables: { ...one.tables, changes: lived('a', 0, ['scheduled', 'running', null, 'running']) },
    }),
  ],
  [
    'a cancellation that was overruled',
    'inconsistent',
    story({ ...one, requests: [...one.requests, request('cancel_run', 'a', T + 5, { runId: 'a@0' })] }),
  ],
  [
    'a run cancelled by nobody',
    'inconsistent',
    story({ ...one, tables: { history: [ended('a', 0, { state: 'cancelled' })] } }),
  ],
  [
    'a place that nobody holds',
    'inconsistent',
    story({ ...one, tables: { ...one.tables, gates: [{ queue: 'default', key: 'k', held: 1 }] } }),
  ],
  [
    'one answer on the path for two runs',
    'inconsistent',
    story({
      requests: [asked('a', every({ endAt: new Date(T + 100).toISOString() }))],
      deliveries: [delivered('a', 0), delivered('a', 100, { path: '/elsewhere' })],
      tables: { history: [ended('a', 0), ended('a', 100)] },
    }),
  ],
  [
    'two at once behind one place',
    'over_limit',
    story({
      requests: behindKey(),
      deliveries: [delivered('a', 0), delivered('b', 1)],
      tables: { history: [ended('a', 0), ended('b', 1)] },
    }),
  ],
  [
    'more of a queue at once than it may',
    'over_limit',
    story({
      requests: [
        request('limit_queue', '', T - 900, { taskId: null, queue: { name: 'q', limit: 1 } }),
        asked('a', { ...once(0), queue: 'q' }),
        asked('b', { ...once(1), queue: 'q' }),
      ],
      deliveries: [delivered('a', 0), delivered('b', 1)],
      tables: { history: [ended('a', 0), ended('b', 1)] },
    }),
  ],
  [
    'a task that overlaps itself',
    'over_limit',
    story({
      requests: [asked('a', every({ overlap: 'skip', endAt: new Date(T + 100).toISOString() }))],
      deliveries: [delivered('a', 0, { answeredAt: T + 150 }), delivered('a', 100)],
      tables: { history: [ended('a', 0, { endedAt: T + 155 }), ended('a', 100)] },
    }),
  ],
  [
    'the second before the first',
    'out_of_order',
    story({
      requests: behindKey(),
      deliveries: [
        delivered('a', 0, { receivedAt: T + 3_000 }),
        delivered('b', 1, { receivedAt: T + 2_000 }),
      ],
      tables: {
        history: [
          ended('a', 0, { startedAt: T + 2_990, endedAt: T + 3_040 }),
          ended('b', 1, { startedAt: T + 1_990, endedAt: T + 2_040 }),
        ],
      },
    }),
  ],
  ['a line of all that starts with its end', 'out_of_order', inLine([0, 300, 100, 200])],
  [
    'two that wait where one may',
    'over_limit',
    story({
      requests: [asked('a', every({ overlap: 'queue_one', endAt: new Date(T + 200).toISOString() }))],
      deliveries: [0, 400, 800].map((at, i) =>
        delivered('a', i * 100, { receivedAt: T + at + 4, answeredAt: T + at + 380 }),
      ),
      tables: {
        history: [0, 400, 800].map((at, i) =>
          ended('a', i * 100, { startedAt: T + at + 2, endedAt: T + at + 385 }),
        ),
        changes: [
          ...turned('a', 0, { began: 2, gone: 385 }),
          ...turned('a', 100, { held: 101, began: 402, gone: 785 }),
          ...turned('a', 200, { held: 201, began: 802, gone: 1_185 }),
        ],
      },
    }),
  ],
  [
    'one passed over where all may wait',
    'lost',
    inLine([0, 100, 200], {
      history: [
        ...[0, 100, 200].map((due, i) =>
          ended('a', due, { startedAt: T + 2 + i * 400, endedAt: T + 387 + i * 400 }),
        ),
        skipped('a', 300, 'overlap'),
      ],
    }),
  ],
  [
    'one passed over where none waited',
    'lost',
    story({
      requests: [asked('a', every({ overlap: 'queue_one', endAt: new Date(T + 100).toISOString() }))],
      deliveries: [delivered('a', 0, { answeredAt: T + 350 })],
      tables: {
        history: [ended('a', 0, { endedAt: T + 352 }), skipped('a', 100, 'overlap', { runId: 'a@100' })],
        changes: [...turned('a', 0, { began: 2, gone: 352 }), ...turned('a', 100, { gone: 101 })],
      },
    }),
  ],
  [
    'one that waits though nothing is active any more',
    'lost',
    story({
      requests: [asked('a', every({ overlap: 'queue_one', endAt: new Date(T + 100).toISOString() }))],
      deliveries: [delivered('a', 0, { answeredAt: T + 350 })],
      tables: {
        history: [ended('a', 0, { endedAt: T + 352 })],
        live: [live('a', 100, { state: 'held', wakeAt: T + 600_500 })],
      },
    }),
  ],
  [
    'an earlier run that goes on though a later one is to take its place',
    'inconsistent',
    story({
      requests: [asked('a', every({ overlap: 'cancel_previous', endAt: new Date(T + 100).toISOString() }))],
      deliveries: [
        delivered('a', 0, { answeredAt: T + 15_000 }),
        delivered('a', 100, { receivedAt: T + 15_020 }),
      ],
      tables: {
        history: [
          ended('a', 0, { endedAt: T + 15_005 }),
          ended('a', 100, { startedAt: T + 15_015, endedAt: T + 15_060 }),
        ],
        changes: [
          ...turned('a', 0, { began: 2, gone: 15_005 }),
          ...turned('a', 100, { held: 101, began: 15_015, gone: 15_060 }),
        ],
      },
    }),
  ],
  [
    'a run that was told to stop and is called completed',
    'inconsistent',
    story({
      ...replacing,
      deliveries: [delivered('a', 0, { answeredAt: T + 210 }), delivered('a', 200, { receivedAt: T + 230 })],
      tables: {
        ...replacing.tables,
        history: [ended('a', 0, { endedAt: T + 220 }), ...replacing.tables.history.slice(1)],
      },
    }),
  ],
  [
    'two ends of one run that were both said to count',
    'two_winners',
    story({ ...eventful, receipts: [told('a', 0, 5, true), told('a', 0, 1, true)] }),
  ],
  [
    'an end that counted though another held the run',
    'stale_accepted',
    story({ ...eventful, receipts: [told('a', 0, 1, true), told('a', 0, 5, false)] }),
  ],
]

test.each(WRONG)('%s is called %s', (_, kind, evidence) => {
  expect(kindsIn(evidence)).toEqual([kind])
})

test('the rest of what is wrong with a run stands beside the first', () => {
  const [finding] = check(
    story({ ...one, tables: { history: [ended('a', 0, { attempt: 3 }), ended('a', 0)] } }),
  ).findings

  expect(finding).toMatchObject({
    kind: 'history_doubled',
    also: [{ kind: 'history_missing' }, { kind: 'inconsistent' }],
  })
})

/** Every file that the verdict comes from. */
function filesBehind(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen
  seen.add(path)
  for (const [, target = ''] of readFileSync(path, 'utf8').matchAll(/from\s*'(\.[^']+)'/g))
    filesBehind(join(dirname(path), target), seen)
  return seen
}

test('the verdict shares no code with the product', () => {
  const here = dirname(fileURLToPath(import.meta.url))
  const behind = ['check.ts', 'observe.ts', 'client.ts'].flatMap((name) => [...filesBehind(join(here, name))])

  expect(behind.length).toBeGreaterThan(10)
  expect(behind.filter((path) => path.includes('/src/'))).toEqual([])
})
