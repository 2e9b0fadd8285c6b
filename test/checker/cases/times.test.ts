/** Nothing begins before its time, and nothing later than what happened explains. */
import { asked, attempt, delivered, ended, eventful, fault, once, one, story, T } from '../stories.ts'
import { theyAreCalled } from './judge.ts'

theyAreCalled([
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
    'a retry that comes at once',
    'early',
    story({
      ...eventful,
      deliveries: eventful.deliveries.map((delivery, i) =>
        i === 1 ? { ...delivery, receivedAt: T + 500 } : delivery,
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
    'an attempt that was lost before its time, and is said to have begun then',
    'early',
    story({
      ...eventful,
      tables: {
        ...eventful.tables,
        attempts: eventful.tables.attempts.map((one, i) => (i === 0 ? { ...one, startedAt: T - 12 } : one)),
      },
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
    'a retry beyond its backoff',
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
])
