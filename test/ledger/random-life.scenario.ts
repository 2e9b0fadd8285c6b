/** Long lives at random; `npm run suite ledger -- --seed 42` replays one. */
import { expect, test } from 'vitest'
import { OVERLAP_POLICIES } from '../../src/core/task/task.ts'
import { createTestDatabase } from '../support/database.ts'
import { liveAtRandom } from './random-life.ts'

const seed = Number(process.env['BELFRY_TEST_SEED'] ?? Date.now() % 1_000_000)

test(`every occurrence is accounted for once, whatever happens (seed ${seed})`, {
  timeout: 900_000,
}, async () => {
  const { url } = await createTestDatabase()

  const life = await liveAtRandom({
    seed,
    databaseUrl: url,
    nodes: 3,
    tasks: 60,
    acts: Number(process.env['BELFRY_TEST_ACTS'] ?? 800),
    kills: 3,
    outages: 2,
    overlaps: OVERLAP_POLICIES,
  })

  const { done, ledgers, doubled, unknown, compared } = life
  const sum = (name: string) => ledgers.reduce((total, { counts }) => total + (counts[name] ?? 0), 0)
  const expected = ledgers.reduce((total, ledger) => total + ledger.expected, 0)
  process.stdout.write(
    `  seed ${seed}: ${ledgers.length} tasks, ${JSON.stringify(done)}\n  expected ${expected}: ${sum('ran')} ran, ${sum('skipped')} skipped, ` +
      `${sum('missing')} missing, ${sum('doubled')} doubled, ${sum('unexpected')} unexpected; ${compared} compared with an oracle\n`,
  )
  expect(JSON.stringify(ledgers.filter(({ problems }) => problems.length > 0))).toBe('[]')
  expect(ledgers.every((ledger) => ledger.expected === ledger.accounted)).toBe(true)
  expect(doubled).toEqual([])
  expect(unknown).toEqual([])
  expect(compared).toBeGreaterThan(1_000)
})
