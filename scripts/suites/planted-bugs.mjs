/**
 * Plants every bug of test/checker/bugs.ts in the program, or those with the text of `--only` in their names, and sees
 * whether the checker finds it. Each round has another seed; `--seed` repeats one.
 */
import { integer, seedFrom, takeOptions } from './options.mjs'
import { runRounds } from './rounds.mjs'

/** @type {import('./index.mjs').Run} */
export function run(args, path) {
  const { values, rest } = takeOptions(args, ['rounds', 'seed', 'only'])
  return runRounds(path, {
    rounds: integer('rounds', values.rounds ?? '1', { min: 1 }),
    seed: seedFrom(values.seed),
    args: rest,
    env: { BELFRY_TEST_PLANTED_BUGS: values.only ?? 'all' },
  })
}
