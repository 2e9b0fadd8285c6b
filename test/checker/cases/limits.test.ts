/** How many at once, and in which order: keys, queues, and what a task does about overlaps with itself. */
import type { Evidence } from '../evidence.ts'
import { asked, delivered, ended, every, live, once, request, skipped, story, T, turned } from '../stories.ts'
import { nothingIsWrongWith, theyAreCalled } from './judge.ts'

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

const behindKey = (more = {}) => [
  asked('a', { ...once(0), concurrencyKey: 'k', ...more }),
  asked('b', { ...once(1), concurrencyKey: 'k', ...more }),
]

nothingIsWrongWith({
  'two behind a key, one after the other': story({
    requests: [
      asked('a', { ...once(0), concurrencyKey: 'k' }),
      asked('b', { ...once(1), concurrencyKey: 'k' }),
    ],
    deliveries: [delivered('a', 0), delivered('b', 1, { receivedAt: T + 2_000 })],
    tables: { history: [ended('a', 0), ended('b', 1, { startedAt: T + 1_990, endedAt: T + 2_040 })] },
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
})

theyAreCalled([
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
])
