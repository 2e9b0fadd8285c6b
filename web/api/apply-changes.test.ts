import { beforeEach, expect, test } from 'vitest'
import type { RunChange } from '../../src/api/resources/stream/schemas.ts'
import { applyChanges } from './apply-changes.ts'
import { MAX_GROWTH, type Pages } from './live-rows.ts'
import { queryClient } from './query-client.ts'
import { RUN_PAGE_SIZE, runsQuery } from './runs.ts'
import type { Run } from './wire.ts'

const { queryKey } = runsQuery({})
const runNumber = (n: number) => ({ id: String(n), taskId: 'a task', state: 'completed' }) as RunChange & Run

const tellOf = (runs: readonly RunChange[], isWatching: boolean) =>
  applyChanges({ now: '', isComplete: true, tasks: [], deletedTasks: [], circuits: [], runs }, { isWatching })

const shown = () => queryClient.getQueryData<Pages<Run>>(queryKey)?.pages.flatMap(({ items }) => items) ?? []

beforeEach(() => {
  const page = (from: number) => ({
    items: Array.from({ length: RUN_PAGE_SIZE }, (_, n) => runNumber(from - n)),
    nextCursor: 'further',
  })
  queryClient.setQueryData<Pages<Run>>(queryKey, {
    pages: [page(0), page(-50)],
    pageParams: [null, 'further'],
  })
})

test('a live list scrolled to its top shows the newest runs and never exceeds its maximum length', () => {
  for (let n = 1; n <= 1_000; n++) {
    tellOf([runNumber(n)], true)
    const runs = shown()
    expect(runs[0]?.id).toBe(String(n))
    // Where a list that was cut goes on has to be asked for.
    if (runs.length === RUN_PAGE_SIZE) expect(queryClient.getQueryState(queryKey)?.isInvalidated).toBe(true)
  }

  expect(shown().length).toBeLessThanOrEqual(RUN_PAGE_SIZE + MAX_GROWTH)
})

test('new runs neither lengthen nor shift a list that is scrolled down', () => {
  const before = shown().map(({ id }) => id)
  for (let n = 1; n <= 200; n++) tellOf([runNumber(n)], false)

  expect(shown().map(({ id }) => id)).toEqual(before)
})
