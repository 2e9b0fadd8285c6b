/** A run is one worker's at a time: claims, fences, shards, and reports of who no longer holds it. */
import {
  asked,
  attempt,
  delivered,
  ended,
  eventful,
  fault,
  HEIR,
  lived,
  once,
  one,
  story,
  T,
  told,
  WORKER,
} from '../stories.ts'
import { nothingIsWrongWith, theyAreCalled } from './judge.ts'

nothingIsWrongWith({
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
  'a run that failed once, was lost once, and completed elsewhere': story(eventful),
  'reports of an end by who no longer held the run': story({
    ...eventful,
    receipts: [told('a', 0, 1, false), told('a', 0, 5, true), told('a', 0, 1, false)],
  }),
})

theyAreCalled([
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
    'two ends of one run that were both said to count',
    'two_winners',
    story({ ...eventful, receipts: [told('a', 0, 5, true), told('a', 0, 1, true)] }),
  ],
  [
    'an end that counted though another held the run',
    'stale_accepted',
    story({ ...eventful, receipts: [told('a', 0, 1, true), told('a', 0, 5, false)] }),
  ],
])
