/** History tells what happened: once, all of it, and as the sink saw it. */
import {
  asked,
  attempt,
  delivered,
  ended,
  eventful,
  every,
  live,
  lived,
  once,
  one,
  request,
  story,
  T,
} from '../stories.ts'
import { nothingIsWrongWith, theyAreCalled } from './judge.ts'

nothingIsWrongWith({
  'a task that ran': story({
    requests: [asked('a', once(0))],
    deliveries: [delivered('a', 0)],
    tables: { history: [ended('a', 0)], changes: lived('a', 0, ['scheduled', 'running', null]) },
  }),
})

theyAreCalled([
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
])
