/** Long lives at random; `npm run test:ledger -- --seed 42` replays one. */
import { expect, test } from 'vitest'
import { OVERLAP_POLICIES } from '../../src/core/task.ts'
import { createTestDatabase } from '../support/database.ts'
import { liveAtRandom } from './random-life.ts'

const first = Number(process.env['BELFRY_TEST_SEED'] ?? Date.now() % 1_000_000)
const rounds = Number(process.env['BELFRY_TEST_ROUNDS'] ?? 3)

for (let seed = first; seed < first + rounds; seed++) {
  test(`every occurrence is accounted for once, whatever happens (seed ${seed})`, {
    timeout: 600_000,
  }, async () => {
    const { url } = await createTestDatabase()

    const { done, ledgers } = await liveAtRandom({
      seed,
      databaseUrl: url,
      nodes: 3,
      tasks: 60,
      acts: 800,
      kills: 4,
      overlaps: OVERLAP_POLICIES,
    })

    const sum = (name: string) => ledgers.reduce((total, { counts }) => total + (counts[name] ?? 0), 0)
    const expected = ledgers.reduce((total, ledger) => total + ledger.expected, 0)
    process.stdout.write(
      `  seed ${seed}: ${ledgers.length} tasks, ${JSON.stringify(done)}\n  expected ${expected}: ${sum('ran')} ran, ${sum('skipped')} skipped, ` +
        `${sum('missing')} missing, ${sum('doubled')} doubled, ${sum('unexpected')} unexpected\n`,
    )
    expect(JSON.stringify(ledgers.filter(({ problems }) => problems.length > 0))).toBe('[]')
    expect(ledgers.every((ledger) => ledger.expected === ledger.accounted)).toBe(true)
  })
}
