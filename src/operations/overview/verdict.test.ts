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
  circuits: { count: 0, atLeast: false, items: [] },
  clockStep: null,
}

test('without problems the verdict is fine and summarises the last 24 hours', () => {
  const { isFine, sentence } = verdictOf(fine)

  expect(isFine).toBe(true)
  expect(sentence.replaceAll('\u00a0', ' ')).toBe(
    'On time. In the last 24 hours 41 196 runs ended and 12 occurrences were skipped, none of them missed or lost. Every task has its next run or has ended, and every run counted in the last 24 hours is in history.',
  )
})

test.each([
  [
    { database: 'PostgreSQL has run out of disk space.' },
    'Belfry cannot create, start or record anything. PostgreSQL has run out of disk space. ',
  ],
  [
    { unwatchedShards: 1 },
    'No scheduler watches 1 shard; runs that come due there are late until a scheduler takes it over. ',
  ],
  [{ late: { count: 1, atLeast: false, oldestMs: 7_400 } }, '1 run is late, the oldest by 7 s. '],
  [
    { late: { count: 900, atLeast: true, oldestMs: 200_000 } },
    'At least 900 runs are late, the oldest by 3 min. ',
  ],
  [
    { audit: { ...AUDITED, minutesLost: 2 } },
    'Rows are missing from 2 minutes of history; see GET /v1/findings. ',
  ],
  [{ failing: { count: 2, atLeast: false } }, '2 tasks are failing. '],
  [
    { circuits: { count: 1, atLeast: false, items: [{ target: 'https://api.example.com' }] } },
    'Calls to https://api.example.com wait, because it does not respond. ',
  ],
  [
    { circuits: { count: 2, atLeast: false, items: [{ target: 'https://api.example.com' }] } },
    'Calls to 2 targets wait, because they do not respond. ',
  ],
  [
    { refused: { count: 1, atLeast: false, items: [{ operation: 'record' }] } } as const,
    'PostgreSQL rejects 1 write: the outcome of a run cannot be recorded. ',
  ],
  [
    { audit: { ...AUDITED, repaired: 0, unrepaired: 1, silentMs: 0 } },
    '1 task has no next occurrence scheduled, and the audit could not repair this. ',
  ],
  [
    { audit: { ...AUDITED, repaired: 2, unrepaired: 0, silentMs: 0 } },
    'The audit found and restored 2 missing rows in the last 24 hours. ',
  ],
  [
    { audit: { ...AUDITED, repaired: 0, unrepaired: 0, silentMs: 3_700_000 } },
    'The audit has not completed a pass for 1 h. ',
  ],
  [
    { clockStep: { byMs: -500, agoMs: 4_000, count: 1 } },
    'The database clock was set back by 500 ms, 4 s ago. ',
  ],
  [
    { clockStep: { byMs: 3_600_123, agoMs: 90_000, count: 2 } },
    'The database clock was set forward by 1 h, 1 min ago (2 times in the last 24 hours). ',
  ],
  [{ lostNodes: 1, quietNodes: 2 }, '1 node died in the last hour. 2 nodes have sent no recent heartbeat. '],
] satisfies [Partial<Ingredients>, string][])('the verdict starts with the problem: %j', (wrong, says) => {
  const { isFine, sentence } = verdictOf({ ...fine, ...wrong })

  expect(isFine).toBe(false)
  expect(sentence.startsWith(says)).toBe(true)
  expect(sentence).not.toContain('On time')
})

test('a missed or lost occurrence needs attention even without a current problem', () => {
  const { isFine, sentence } = verdictOf({ ...fine, missed: 3 })

  expect(isFine).toBe(false)
  expect(sentence).toMatch(/^In the last 24 hours 41\u00a0196 runs ended and .* 3 of them missed or lost\.$/)
})

test.each([
  [{ ran: 1, skipped: 0 }, 'In the last 24 hours 1 run ended and no occurrence was skipped.'],
  [{ ran: 0, skipped: 1 }, 'In the last 24 hours 0 runs ended and 1 occurrence was skipped.'],
  [
    { ran: 2, skipped: 1, missed: 1 },
    'In the last 24 hours 2 runs ended and 1 occurrence was missed or lost.',
  ],
])('the verdict has correct singulars and plurals: %j', (day, says) => {
  expect(verdictOf({ ...fine, ...day }).sentence).toContain(says)
})
