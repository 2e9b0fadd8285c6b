/**
 * Every overlap policy on three nodes under load, one of which dies, judged by test/checker. Each round has another seed;
 * `--seed` repeats one. `--tasks` is the number of tasks of each policy and duration.
 */
import { integer, seedFrom, takeOptions } from './options.mjs'
import { runRounds } from './rounds.mjs'

/** @type {import('./index.mjs').Run} */
export function run(args, path) {
  const { values, rest } = takeOptions(args, ['rounds', 'seed', 'tasks', 'seconds'])
  const tasks = integer('tasks', values.tasks ?? '4', { min: 1 })
  const seconds = integer('seconds', values.seconds ?? '12', { min: 1 })
  return runRounds(path, {
    rounds: integer('rounds', values.rounds ?? '1', { min: 1 }),
    seed: seedFrom(values.seed),
    args: rest,
    env: { BELFRY_TEST_TASKS: String(tasks), BELFRY_TEST_SECONDS: String(seconds) },
  })
}
