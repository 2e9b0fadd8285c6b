/** Work of every sort, due within a few seconds; the seed decides what varies. */
import type { Wanted } from './client.ts'
import type { Sink } from './sink.ts'

/** Numbers in [0, 1), the same ones for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export interface WorkloadOptions {
  readonly sink: Sink
  readonly random: () => number
  /** When the first is due. */
  readonly from: number
  /** Period in which the other one-off tasks are due. */
  readonly lengthMs: number
}

/** Tasks whose runs a worker has when the experiment declares it dead; the sink holds their answers until told. */
export const HELD = 'held'
export const HELD_FAILING = 'held-failing'
/** Due all the time, in many shards. */
export const TICKS = 'tick'
/** What goes on until it is cancelled. */
export const ENDLESS = [TICKS, 'overlapping', 'cron', 'chain']
export const CANCELLED_TASK = 'cancelled-task'
export const CANCELLED_RUN = 'cancelled-run'
/** A queue whose limit is set before anything is in it. */
export const NARROW = { queue: 'narrow', limit: 2 }
export const TRIGGERED = 'triggered'
/** Tasks whose runs replace one another; the sink holds their answers until told. */
export const REPLACING = 'replacing'

export function workload({ sink, random, from, lengthMs }: WorkloadOptions): Wanted[] {
  const at = (ms: number) => new Date(Math.round(from + ms)).toISOString()
  const within = (ms: number) => Math.floor(random() * ms)
  const span = { startAt: at(0) }
  const make = (
    name: string,
    count: number,
    body: (path: string, i: number) => Omit<Wanted['body'], 'action'> & { readonly action?: unknown },
    behaviour: (i: number) => Record<string, number> = () => ({}),
  ): Wanted[] =>
    Array.from({ length: count }, (_, i) => {
      const path = `${name}/${i}`
      const url = sink.url(path, behaviour(i))
      return { key: path, body: { action: { type: 'webhook', url }, ...body(path, i) } as Wanted['body'] }
    })

  return [
    ...make(
      HELD,
      8,
      () => ({}),
      () => ({ hold: 2 }),
    ),
    ...make(
      HELD_FAILING,
      8,
      () => ({ retry: QUICKLY }),
      () => ({ hold: 2, fail: 1 }),
    ),
    ...make(
      CANCELLED_RUN,
      1,
      () => ({}),
      () => ({ hold: 2 }),
    ),
    ...make(
      'once',
      30,
      (_, i) => ({ schedule: { type: 'once', at: at(within(lengthMs)) }, priority: i % 3 }),
      () => ({ ms: within(40) }),
    ),
    ...make('sleep', 10, (_, i) => ({
      action: { type: 'sleep', duration: `${i * 5}ms` },
      schedule: { type: 'once', at: at(within(lengthMs)) },
    })),
    ...make(TICKS, 12, () => ({ ...span, ...OFTEN })),
    ...make(CANCELLED_TASK, 1, () => ({ ...span, ...OFTEN })),
    ...make(
      'overlapping',
      3,
      () => ({ ...span, schedule: { type: 'every', interval: '150ms' } }),
      () => ({ ms: 350 }),
    ),
    ...make(
      'line-of-one',
      2,
      () => ({ ...span, ...OFTEN, overlap: 'queue_one', endAt: at(lengthMs) }),
      () => ({ ms: 350 }),
    ),
    ...make(
      'line-of-all',
      2,
      () => ({ ...span, ...OFTEN, overlap: 'queue_all', maxRuns: 7 }),
      () => ({ ms: 250 }),
    ),
    ...make(
      REPLACING,
      2,
      () => ({ ...span, ...OFTEN, overlap: 'cancel_previous', endAt: at(lengthMs) }),
      () => ({ hold: 2 }),
    ),
    ...make('cron', 2, (_, i) => ({
      ...span,
      overlap: 'allow',
      schedule: { type: 'cron', expression: '* * * * * *', timezone: ZONES[i] ?? 'UTC' },
    })),
    ...make(
      'chain',
      3,
      () => ({ ...span, schedule: { type: 'delay', interval: '120ms' } }),
      () => ({ ms: within(60) }),
    ),
    ...make(
      'retried',
      4,
      () => ({ startAt: at(within(500)), retry: QUICKLY }),
      (i) => ({ fail: 1 + (i % 2) }),
    ),
    ...make(
      'told-to-wait',
      2,
      () => ({ startAt: at(within(500)), retry: QUICKLY }),
      () => ({ fail: 1, retryAfter: 4 }),
    ),
    ...make(
      'failing',
      2,
      () => ({ startAt: at(within(500)), retry: { ...QUICKLY, limit: 1 } }),
      () => ({ fail: 9 }),
    ),
    ...make(
      'refused',
      1,
      () => ({ startAt: at(within(500)) }),
      () => ({ fail: 9, status: 404 }),
    ),
    ...make(
      'one-by-one',
      14,
      (_, i) => ({ startAt: at(i), concurrencyKey: 'one', priority: i % 7 === 3 ? -1 : 0 }),
      () => ({ ms: 40 }),
    ),
    ...make(
      'three',
      15,
      () => ({ startAt: at(within(200)), concurrencyKey: 'three', concurrencyLimit: 3 }),
      () => ({ ms: 50 }),
    ),
    ...make(
      'wide',
      6,
      () => ({ startAt: at(within(200)), concurrencyKey: 'wide', concurrencyLimit: 50 }),
      () => ({ ms: 20 }),
    ),
    ...make(
      'narrow',
      12,
      () => ({ startAt: at(within(200)), queue: NARROW.queue }),
      () => ({ ms: 40 }),
    ),
    ...make(TRIGGERED, 1, () => ({ schedule: { type: 'manual' } })),
  ]
}

const QUICKLY = { limit: 3, initial: '100ms', max: '300ms' }
const OFTEN = { schedule: { type: 'every', interval: '200ms' }, overlap: 'allow' }
const ZONES = ['UTC', 'Europe/Berlin']
