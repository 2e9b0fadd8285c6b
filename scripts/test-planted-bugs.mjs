/**
 * `npm run test:planted-bugs`: plants every bug of test/checker/bugs.ts in the program and sees whether the
 * checker finds it, as often as it is told, each time with another seed. Failures print the seed; `--seed`
 * replays it.
 */

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { prepare } from './bootstrap.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '1' }, seed: { type: 'string' }, only: { type: 'string' } },
})
const rounds = Number(values.rounds)
const first = Number(values.seed ?? Date.now() % 1_000_000)
if (!Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(first)) {
  console.error('Usage: npm run test:planted-bugs -- [--rounds 3] [--seed 42] [--only "part of a name"]')
  process.exit(2)
}

await prepare({ build: true })
for (let round = 0; round < rounds; round++) {
  console.log(`Seed ${first + round}`)
  const code = await runTests(first + round)
  if (code !== 0) process.exit(code)
}

/**
 * @param {number} seed
 * @returns {Promise<number>}
 */
function runTests(seed) {
  const child = spawn(
    process.execPath,
    [
      join(root, 'node_modules', 'vitest', 'vitest.mjs'),
      'run',
      '--config',
      'vitest.scenarios.config.ts',
      join('test', 'checker', 'planted-bugs.scenario.ts'),
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, BELFRY_TEST_PLANTED_BUGS: values.only ?? 'all', BELFRY_TEST_SEED: String(seed) },
    },
  )
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
}
