/** Repeats a random scenario, each round with the next seed, until one fails. The seed is printed first, so that it can be repeated. */
import { runSelected } from './selection.mjs'

/**
 * @param {string} path
 * @param {{ seed: number, rounds: number, args: string[], env: Record<string, string> }} options
 * @returns {Promise<number>}
 */
export async function runRounds(path, { seed, rounds, args, env }) {
  for (let round = 0; round < rounds; round++) {
    console.log(`Seed ${seed + round}`)
    const code = await runSelected(path, args, { ...env, BELFRY_TEST_SEED: String(seed + round) })
    if (code !== 0) return code
  }
  return 0
}
