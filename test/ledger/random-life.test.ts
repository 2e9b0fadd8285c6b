/** A small slice of `npm run suite ledger`: one short life with a death in it. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { liveAtRandom } from './random-life.ts'

const seed = Number(process.env['BELFRY_TEST_SEED'] ?? 434_490)

test(`whatever happens to tasks and nodes, every occurrence is accounted for once (seed ${seed})`, {
  timeout: 400_000,
}, async () => {
  const { url } = await createTestDatabase()

  const { done, ledgers, doubled, unknown } = await liveAtRandom({
    seed,
    databaseUrl: url,
    nodes: 2,
    tasks: 20,
    acts: 100,
    kills: 1,
    outages: 0,
    overlaps: ['skip', 'allow'],
  })

  const sum = (name: string) => ledgers.reduce((total, { counts }) => total + (counts[name] ?? 0), 0)
  process.stdout.write(
    `  seed ${seed}: ${ledgers.length} tasks, ${JSON.stringify(done)}; ${sum('ran')} ran, ${sum('skipped')} skipped, ${sum('missing')} missing, ${sum('doubled')} doubled\n`,
  )
  expect(JSON.stringify(ledgers.filter(({ problems }) => problems.length > 0))).toBe('[]')
  expect(ledgers.every(({ expected, accounted }) => expected === accounted)).toBe(true)
  expect(doubled).toEqual([])
  expect(unknown).toEqual([])
  expect(sum('ran')).toBeGreaterThan(ledgers.length)
  expect(done).toMatchObject({ kill: 1, reschedule: expect.any(Number), pause: expect.any(Number) })
})
