import { expect, test } from 'vitest'
import { type Ingredients, verdictOf } from './verdict.ts'

const AUDITED = { repaired: 0, unrepaired: 0, minutesLost: 0, isWhole: true, silentMs: 20_000 }

const fine: Ingredients = {
  database: null,
  unwatchedShards: 0,
  late: { count: 0, atLeast: false, oldestMs: null },
  failing: { count: 0, atLeast: false },
  lostNodes: 0,
  quietNodes: 0,
  ran: 41_196,
  skipped: 12,
  missed: 0,
  audit: AUDITED,
  refused: { count: 0, atLeast: false, items: [] },
  clockStep: null,
}

test('when nothing is wrong it says so, and what the day was', () => {
  const { isFine, sentence } = verdictOf(fine)

  expect(isFine).toBe(true)
  expect(sentence.replaceAll('\u00a0', ' ')).toBe(
    'On time. In 24 h 41 196 runs ended, and 12 occurrences were skipped, none of them missed. Every task has its next run or has ended, and every run that was counted in 24 h is in history.',
  )
})

test.each([
  [
    { database: 'The disk of PostgreSQL is full. Free or add disk space on it.' },
    'Nothing can be created, started or recorded. The disk of PostgreSQL is full. Free or add disk space on it. ',
  ],
  [
    { unwatchedShards: 1 },
    'Nobody watches 1 shard: what comes due there is late until a scheduler takes it. ',
  ],
  [{ late: { count: 1, atLeast: false, oldestMs: 7_400 } }, '1 run is late, the oldest by 7 s. '],
  [
    { late: { count: 900, atLeast: true, oldestMs: 200_000 } },
    'At least 900 runs are late, the oldest by 3 min. ',
  ],
  [
    { audit: { ...AUDITED, minutesLost: 2 } },
    'Rows are gone from 2 minutes of history; GET /v1/findings lists them. ',
  ],
  [{ failing: { count: 2, atLeast: false } }, '2 tasks are failing. '],
  [
    { refused: { count: 1, atLeast: false, items: [{ operation: 'record' }] } } as const,
    'PostgreSQL refuses 1 write: the outcome of a run cannot be recorded. ',
  ],
  [
    { audit: { ...AUDITED, repaired: 0, unrepaired: 1, silentMs: 0 } },
    '1 task has no next row, and the audit could not put it back. ',
  ],
  [
    { audit: { ...AUDITED, repaired: 2, unrepaired: 0, silentMs: 0 } },
    'The audit found 2 lost rows within 24 h and put them back. ',
  ],
  [
    { audit: { ...AUDITED, repaired: 0, unrepaired: 0, silentMs: 3_700_000 } },
    'No audit has come round for 1 h. ',
  ],
  [
    { clockStep: { byMs: -500, agoMs: 4_000, count: 1 } },
    "The database's clock was set back by 500 ms, 4 s ago. ",
  ],
  [
    { clockStep: { byMs: 3_600_123, agoMs: 90_000, count: 2 } },
    "The database's clock was set forward by 1 h, 1 min ago (2 times in 24 h). ",
  ],
  [{ lostNodes: 1, quietNodes: 2 }, '1 node died within the last hour. 2 nodes are quiet. '],
] satisfies [Partial<Ingredients>, string][])('what is wrong comes first: %j', (wrong, says) => {
  const { isFine, sentence } = verdictOf({ ...fine, ...wrong })

  expect(isFine).toBe(false)
  expect(sentence.startsWith(says)).toBe(true)
  expect(sentence).not.toContain('On time')
})

test('an occurrence that was missed is not fine, though nothing is wrong now', () => {
  const { isFine, sentence } = verdictOf({ ...fine, missed: 3 })

  expect(isFine).toBe(false)
  expect(sentence).toMatch(/^In 24 h 41\u00a0196 runs ended, .* 3 of them missed\.$/)
})

test.each([
  [{ ran: 1, skipped: 0 }, 'In 24 h 1 run ended, and nothing was skipped.'],
  [{ ran: 0, skipped: 1 }, 'In 24 h 0 runs ended, and 1 occurrence was skipped, not missed.'],
  [{ ran: 2, skipped: 1, missed: 1 }, 'In 24 h 2 runs ended, and 1 occurrence was skipped: missed.'],
])('says one and none in words: %j', (day, says) => {
  expect(verdictOf({ ...fine, ...day }).sentence).toContain(says)
})
