import { describe, expect, test } from 'vitest'
import { TASK_DEFAULTS } from '../task/field-list.ts'
import type { TaskDefinition } from '../task/task.ts'
import { type LedgerCase, type LedgerRow, ledgerOf } from './ledger.ts'

const T0 = Date.UTC(2026, 5, 1)
const S = 1_000
const iso = (ms: number) => new Date(ms).toISOString()

function definition(changes: Partial<TaskDefinition> = {}): TaskDefinition {
  return {
    action: { type: 'sleep', duration: '0s' },
    schedule: { type: 'every', interval: '10s' },
    anchorAt: iso(T0),
    ...TASK_DEFAULTS,
    traceparent: null,
    ...changes,
  } as TaskDefinition
}

let serial = 0
function row(at: number, changes: Partial<LedgerRow> = {}): LedgerRow {
  serial += 1
  return {
    runId: `run-${serial}`,
    kind: 'occurrence',
    state: 'completed',
    reason: null,
    scheduledFor: at,
    endedAt: at + S,
    coversUntil: null,
    version: 1,
    ordinal: (at - T0) / (10 * S),
    ...changes,
  }
}

const waiting = (at: number, changes: Partial<LedgerRow> = {}) =>
  row(at, { state: 'scheduled', endedAt: null, ...changes })

/** A task due every ten seconds, looked at from its making until a minute later. */
function aCase(changes: Partial<LedgerCase> = {}): LedgerCase {
  return {
    createdAt: T0,
    versions: [{ version: 1, definition: definition(), until: null }],
    endedAt: null,
    from: T0 - 60 * S,
    to: T0 + 60 * S,
    now: T0 + 60 * S,
    pausedFrom: null,
    rows: [],
    before: null,
    isCutOff: false,
    limit: 1_000,
    ...changes,
  }
}

const states = (it: LedgerCase) =>
  ledgerOf(it).entries.map(({ state, at, count }) => [state, (at - T0) / S, count])

describe('every occurrence is accounted for', () => {
  test('by an ended run, an active run or a waiting row', () => {
    const rows = [
      ...[10, 20, 30, 40].map((s) => row(T0 + s * S)),
      row(T0 + 50 * S, { state: 'running', endedAt: null }),
      waiting(T0 + 60 * S),
    ]

    const ledger = ledgerOf(aCase({ rows, to: T0 + 80 * S, now: T0 + 55 * S }))

    expect(ledger.expected).toBe(8)
    expect(ledger.counts).toMatchObject({ ran: 4, active: 1, upcoming: 3, missing: 0, doubled: 0 })
  })

  test('by a skip that covers several occurrences, as one entry', () => {
    const skip = row(T0 + 20 * S, {
      state: 'skipped',
      reason: 'misfire',
      coversUntil: T0 + 40 * S,
      ordinal: 2,
    })
    const rows = [row(T0 + 10 * S), skip, row(T0 + 50 * S, { ordinal: 2 }), waiting(T0 + 60 * S)]

    const ledger = ledgerOf(aCase({ rows, now: T0 + 59 * S, to: T0 + 59 * S }))

    expect(ledger.entries.map(({ state, count, reason }) => [state, count, reason])).toEqual([
      ['ran', 1, null],
      ['skipped', 3, 'misfire'],
      ['ran', 1, null],
    ])
  })

  test('by a failure that covers several occurrences and does not count against maxRuns', () => {
    const failed = row(T0 + 20 * S, {
      state: 'permanently_failed',
      reason: 'misfire',
      coversUntil: T0 + 40 * S,
      ordinal: 2,
    })
    const versions = [{ version: 1, definition: definition({ maxRuns: 3 }), until: null }]
    const rows = [row(T0 + 10 * S), failed, row(T0 + 50 * S, { ordinal: 2 })]

    const waits = ledgerOf(aCase({ versions, rows: [...rows, waiting(T0 + 60 * S, { ordinal: 3 })] }))
    const lost = ledgerOf(aCase({ versions, rows }))

    expect(waits.counts).toMatchObject({ ran: 2, failed: 3, skipped: 0, due: 1, missing: 0 })
    expect(waits.entries[1]).toMatchObject({ state: 'failed', reason: 'misfire', count: 3, at: T0 + 20 * S })
    expect(lost.counts).toMatchObject({ ran: 2, failed: 3, missing: 1 })
  })

  test('by a skip with queue_timeout, which counts against maxRuns', () => {
    const versions = [{ version: 1, definition: definition({ maxRuns: 2 }), until: null }]
    const rows = [row(T0 + 10 * S), row(T0 + 20 * S, { state: 'skipped', reason: 'queue_timeout' })]

    expect(states(aCase({ versions, rows }))).toEqual([
      ['ran', 10, 1],
      ['skipped', 20, 1],
    ])
  })

  test('by a pause that has not ended', () => {
    const it = aCase({ rows: [row(T0 + 10 * S)], pausedFrom: T0 + 15 * S })

    expect(states(it)).toEqual([
      ['ran', 10, 1],
      ['skipped', 20, 5],
    ])
    expect(ledgerOf(it).entries[1]?.reason).toBe('paused')
  })

  test('by a due row that has not fired yet, although later occurrences are due too', () => {
    const it = aCase({ rows: [row(T0 + 10 * S), waiting(T0 + 20 * S)] })

    expect(ledgerOf(it).counts).toMatchObject({ ran: 1, due: 5, missing: 0 })
  })
})

describe('inconsistencies', () => {
  test('a lost row leaves everything after it missing, as one entry', () => {
    const it = aCase({ rows: [row(T0 + 10 * S), row(T0 + 20 * S)] })

    expect(states(it)).toEqual([
      ['ran', 10, 1],
      ['ran', 20, 1],
      ['missing', 30, 4],
    ])
  })

  test('a gap between two runs is one missing occurrence', () => {
    const rows = [10, 20, 40, 50, 60].map((s) => row(T0 + s * S))

    expect(ledgerOf(aCase({ rows })).entries.filter(({ state }) => state === 'missing')).toMatchObject([
      { at: T0 + 30 * S, count: 1 },
    ])
  })

  test('a second run of an occurrence, or a run within a skipped period, is doubled', () => {
    const twice = row(T0 + 20 * S)
    const skip = row(T0 + 30 * S, { state: 'skipped', reason: 'paused', coversUntil: T0 + 50 * S })
    const rows = [10, 20, 40, 60].map((s) => row(T0 + s * S))

    const { counts } = ledgerOf(aCase({ rows: [...rows, twice, skip] }))

    expect(counts).toMatchObject({ ran: 2, doubled: 2, skipped: 2, missing: 0 })
  })

  test('a run at an instant that no version of the task has is unexpected', () => {
    const rows = [10, 20, 30, 40, 50, 60].map((s) => row(T0 + s * S))

    const ledger = ledgerOf(aCase({ rows: [...rows, row(T0 + 25 * S)] }))

    expect(ledger.counts).toMatchObject({ ran: 6, unexpected: 1 })
    expect(ledger.expected).toBe(6)
  })

  test('a chain that stopped has its next occurrence missing', () => {
    const chain = definition({ schedule: { type: 'delay', interval: '5s' } })
    const versions = [{ version: 1, definition: chain, until: null }]
    const rows = [row(T0, { ordinal: 1 }), row(T0 + 6 * S, { ordinal: 2 })]

    expect(states(aCase({ versions, rows }))).toEqual([
      ['ran', 0, 1],
      ['ran', 6, 1],
      ['missing', 12, 1],
    ])
    expect(ledgerOf(aCase({ versions, rows: [...rows, waiting(T0 + 12 * S)] })).counts.missing).toBe(0)
  })
})

describe('expected occurrences', () => {
  const quicker = definition({ schedule: { type: 'every', interval: '5s' } })

  test('each version has its own occurrences until the next version replaces it', () => {
    const versions = [
      { version: 1, definition: definition(), until: T0 + 22 * S },
      { version: 2, definition: quicker, until: null },
    ]
    const rows = [10, 20].map((s) => row(T0 + s * S))

    const ledger = ledgerOf(aCase({ versions, rows, to: T0 + 40 * S, now: T0 + 40 * S }))

    expect(ledger.entries.at(-1)).toMatchObject({ state: 'missing', at: T0 + 25 * S, count: 4, version: 2 })
  })

  test('a row that was due when an edit came keeps its instant, under the new version', () => {
    const versions = [
      { version: 1, definition: definition(), until: T0 + 20 * S },
      { version: 2, definition: definition({ schedule: { type: 'every', interval: '7s' } }), until: null },
    ]
    const rows = [row(T0 + 10 * S), row(T0 + 20 * S, { version: 2 }), waiting(T0 + 21 * S, { version: 2 })]

    expect(ledgerOf(aCase({ versions, rows })).counts).toMatchObject({ ran: 2, unexpected: 0, missing: 0 })
  })

  test('a row that was due before several edits belongs to the version that produced it', () => {
    const versions = [
      { version: 1, definition: definition(), until: T0 + 20 * S },
      {
        version: 2,
        definition: definition({ schedule: { type: 'every', interval: '7s' } }),
        until: T0 + 20 * S,
      },
      { version: 3, definition: definition({ schedule: { type: 'every', interval: '9s' } }), until: null },
    ]
    const rows = [row(T0 + 10 * S), row(T0 + 20 * S, { version: 3 }), waiting(T0 + 27 * S, { version: 3 })]

    const { counts } = ledgerOf(aCase({ versions, rows, now: T0 + 21 * S, to: T0 + 21 * S }))

    expect(counts).toMatchObject({ ran: 2, unexpected: 0, missing: 0 })
  })

  test('nothing is expected after the task was cancelled', () => {
    const rows = [10, 20].map((s) => row(T0 + s * S))

    expect(ledgerOf(aCase({ rows, endedAt: T0 + 25 * S })).counts).toMatchObject({ ran: 2, missing: 0 })
  })

  test('nothing is expected after maxRuns, and skipped occurrences do not count', () => {
    const versions = [{ version: 1, definition: definition({ maxRuns: 2 }), until: null }]
    const rows = [
      row(T0 + 10 * S, { ordinal: 1 }),
      row(T0 + 20 * S, { ordinal: 2, state: 'skipped', reason: 'overlap' }),
      row(T0 + 30 * S, { ordinal: 2 }),
    ]

    expect(ledgerOf(aCase({ versions, rows })).counts).toMatchObject({ ran: 2, skipped: 1, missing: 0 })
    expect(ledgerOf(aCase({ versions, rows: rows.slice(0, 2) })).counts.missing).toBe(4)
  })

  test('only as many occurrences lie ahead as maxRuns leaves', () => {
    const versions = [{ version: 1, definition: definition({ maxRuns: 3 }), until: null }]
    const rows = [row(T0 + 10 * S, { ordinal: 1 }), waiting(T0 + 20 * S, { ordinal: 2 })]

    expect(ledgerOf(aCase({ versions, rows, now: T0 + 15 * S })).counts).toMatchObject({
      ran: 1,
      upcoming: 2,
    })
  })

  test('the first occurrence is at startAt if it is given, otherwise one interval after creation', () => {
    const versions = [{ version: 1, definition: definition({ startAt: iso(T0) }), until: null }]
    const to = T0 + 5 * S

    expect(states(aCase({ versions, to, now: to }))).toEqual([['missing', 0, 1]])
    expect(states(aCase({ to, now: to }))).toEqual([])
  })

  test('a one-off task created after its instant is still expected to run', () => {
    const at = T0 - 30 * S
    const once = definition({ schedule: { type: 'once', at: iso(at) } })

    expect(states(aCase({ versions: [{ version: 1, definition: once, until: null }] }))).toEqual([
      ['missing', -30, 1],
    ])
  })
})

test('counting stops at the limit and reports the instant it reached', () => {
  const ledger = ledgerOf(aCase({ limit: 3, rows: [row(T0 + 10 * S)] }))

  expect(ledger.cutAt).toBe(T0 + 30 * S)
  expect(ledger.expected).toBe(3)
})

test('a backfill fills missing occurrences, and an extra one is neither doubled nor unexpected', () => {
  const fill = (at: number) => row(at, { kind: 'backfill', ordinal: 99 })
  const rows = [
    fill(T0 - 30 * S),
    ...[row(T0 + 10 * S), fill(T0 + 10 * S)],
    fill(T0 + 20 * S),
    ...[30, 40, 50, 60].map((s) => row(T0 + s * S)),
    waiting(T0 + 70 * S),
  ]

  const { counts, expected } = ledgerOf(aCase({ rows }))

  expect([expected, counts.ran]).toEqual([6, 6])
  expect([counts.missing, counts.doubled, counts.unexpected]).toEqual([0, 0, 0])
})
