/**
 * `npm run test:ledger`: tasks that are changed at random while nodes are killed, and whether the ledger accounts for
 * everything afterwards, as often as it is told, each time with another seed. Failures print the seed; `--seed` replays it.
 */

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { prepare } from './bootstrap.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, seed: { type: 'string' } },
})
const rounds = Number(values.rounds)
const seed = Number(values.seed ?? Date.now() % 1_000_000)
if (!Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(seed)) {
  console.error('Usage: npm run test:ledger -- [--rounds 3] [--seed 42]')
  process.exit(2)
}

await prepare({ build: true })
const child = spawn(
  process.execPath,
  [
    join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    '--config',
    'vitest.scenarios.config.ts',
    join('test', 'ledger', 'random-life.scenario.ts'),
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, BELFRY_TEST_SEED: String(seed), BELFRY_TEST_ROUNDS: String(rounds) },
  },
)
child.once('close', (code) => process.exit(code ?? 1))
