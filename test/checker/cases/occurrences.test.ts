/** Every occurrence that was owed is there, once, or says why not; and nothing else is. */
import {
  asked,
  attempt,
  delivered,
  ended,
  every,
  fault,
  live,
  lived,
  once,
  one,
  request,
  skipped,
  story,
  T,
} from '../stories.ts'
import { nothingIsWrongWith, theyAreCalled } from './judge.ts'

nothingIsWrongWith({
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
  'as many runs as a task may have, with an outage between them': story({
    requests: [asked('a', every({ maxRuns: 2 }))],
    deliveries: [delivered('a', 200), delivered('a', 300)],
    faults: [fault('kill', -1_000, 150)],
    tables: {
      history: [
        skipped('a', 0, 'misfire', { coversUntil: T + 100, endedAt: T + 150 }),
        ended('a', 200),
        ended('a', 300),
      ],
    },
  }),
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
  'a create that was answered only the second time': story({
    requests: [{ ...asked('a', once(0)), status: null, taskId: null, answeredAt: null }, asked('a', once(0))],
    deliveries: [delivered('a', 0)],
    tables: { history: [ended('a', 0)], tasks: [{ id: 'a', key: null }] },
  }),
  'a task that is not due yet': story({
    requests: [asked('a', once(900_000))],
    tables: { live: [live('a', 900_000)] },
  }),
})

theyAreCalled([
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
    'an outage of which nothing runs',
    'lost',
    story({
      requests: [asked('a', every())],
      deliveries: [delivered('a', 300)],
      faults: [fault('kill', -1_000, 150)],
      tables: {
        history: [
          skipped('a', 0, 'misfire', { coversUntil: T + 100 }),
          skipped('a', 200, 'misfire'),
          ended('a', 300),
        ],
      },
    }),
  ],
  [
    'more runs than a task may have',
    'unexpected',
    story({
      requests: [asked('a', every({ maxRuns: 2 }))],
      deliveries: [0, 100, 200].map((due) => delivered('a', due)),
      tables: { history: [0, 100, 200].map((due) => ended('a', due)) },
    }),
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
])
