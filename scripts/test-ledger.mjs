/**
 * `npm run test:ledger`: tasks that are changed at random while nodes are killed and outages pass, and whether everything is accounted for
 * afterwards, as often as it is told, each time with another seed. Failures print the seed; `--seed` replays it.
 */
import { parseArgs } from 'node:util'
import { runScenario } from './scenario.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seed: { type: 'string' },
    acts: { type: 'string', default: '800' },
  },
})
const rounds = Number(values.rounds)
const acts = Number(values.acts)
const seed = Number(values.seed ?? Date.now() % 1_000_000)
if (![rounds, acts].every((n) => Number.isInteger(n) && n > 0) || !Number.isInteger(seed)) {
  console.error('Usage: npm run test:ledger -- [--rounds 3] [--seed 42] [--acts 800]')
  process.exit(2)
}
process.exitCode = await runScenario('test/ledger/random-life.scenario.ts', {
  seed,
  rounds,
  env: { BELFRY_TEST_ACTS: String(acts) },
})
