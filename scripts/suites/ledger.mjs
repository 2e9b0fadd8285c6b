/**
 * Tasks that are changed at random while nodes are killed and outages pass, and whether everything is accounted for
 * afterwards. Each round has another seed; `--seed` repeats one.
 */
import { integer, seedFrom, takeOptions } from './options.mjs'
import { runRounds } from './rounds.mjs'

/** @type {import('./index.mjs').Run} */
export function run(args, path) {
  const { values, rest } = takeOptions(args, ['rounds', 'seed', 'acts'])
  const acts = integer('acts', values.acts ?? '800', { min: 1 })
  return runRounds(path, {
    rounds: integer('rounds', values.rounds ?? '3', { min: 1 }),
    seed: seedFrom(values.seed),
    args: rest,
    env: { BELFRY_TEST_ACTS: String(acts) },
  })
}
