/**
 * Runs one scenario, once for each seed, until one fails. As a program it takes a file or a folder, and what selects files in that
 * folder: `npm run test:targets -- flapping`.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { prepare } from './bootstrap.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * @param {string} file
 * @param {{ seed: number, rounds: number, env?: Record<string, string> }} options
 * @returns {Promise<number>}
 */
export async function runScenario(file, { seed, rounds, env = {} }) {
  await prepare({ build: true })
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  for (let round = 0; round < rounds; round++) {
    console.log(`Seed ${seed + round}`)
    const child = spawn(process.execPath, [vitest, 'run', '--config', 'vitest.scenarios.config.ts', file], {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, ...env, BELFRY_TEST_SEED: String(seed + round) },
    })
    const code = await new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
    if (code !== 0) return code
  }
  return 0
}

const [, program = '', place, only = ''] = process.argv
if (place !== undefined && pathToFileURL(program).href === import.meta.url)
  process.exitCode = await runScenario(place + only, { seed: 1, rounds: 1 })
