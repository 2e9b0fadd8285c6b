/**
 * `npm run test:overlap`: every overlap policy on three nodes under load, one of which dies, judged by test/checker, as often as it is
 * told, each time with another seed. Failures print the seed; `--seed` replays it.
 */
import { parseArgs } from 'node:util'
import { runScenario } from './scenario.mjs'

const text = /** @type {const} */ ({ type: 'string' })
const { values } = parseArgs({ options: { rounds: text, seed: text, tasks: text, seconds: text } })
const rounds = Number(values.rounds ?? 1)
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const tasks = Number(values.tasks ?? 4)
const seconds = Number(values.seconds ?? 12)
if (![rounds, tasks, seconds].every((n) => Number.isInteger(n) && n > 0) || !Number.isInteger(seed)) {
  console.error(
    'Usage: npm run test:overlap -- [--rounds 1] [--seed 42] [--tasks 4, of each policy and duration] [--seconds 12]',
  )
  process.exit(2)
}
process.exitCode = await runScenario('test/scenarios/overlap-matrix.scenario.ts', {
  seed,
  rounds,
  env: { BELFRY_TEST_TASKS: String(tasks), BELFRY_TEST_SECONDS: String(seconds) },
})
