/** How a task goes on that has lost its next row, as far as history tells. */
import { expect, test } from 'vitest'
import { aDefinition } from '../../../test/support/agenda.ts'
import { remedyFor } from './stalled.ts'

const HOUR = 3_600_000
const now = Date.UTC(2026, 5, 1)

test('occurrences from before history begins are not recorded as lost: nothing tells whether they ran', () => {
  const definition = aDefinition({
    schedule: { type: 'every', interval: '1h' },
    anchorAt: '2026-01-01T00:00:00Z',
    misfire: { policy: 'skip', window: '1d', cap: 100, rate: 10 },
  })

  const remedy = remedyFor({
    ...{ definition, now, createdAt: now - 1_000 * HOUR, takenOverAt: null, latest: null, lastEndedAt: null },
    ...{ ordinal: 1, historyFrom: now - 24 * HOUR },
  })

  expect(remedy).toMatchObject({
    kind: 'go_on',
    at: now + HOUR,
    lost: { first: now - 24 * HOUR, last: now, count: 25 },
  })
})
