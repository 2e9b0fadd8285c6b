/**
 * `npm run test:presets`: the scenarios of test/scenarios under each preset, with its own cadences and what follows
 * from them as bounds. Names choose presets (`npm run test:presets -- minute-cron small-batches`); other arguments are vitest's.
 */

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from './bootstrap.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const PRESETS = ['batch-windows', 'minute-cron', 'frequent-scan', 'small-batches']

const args = process.argv.slice(2)
const named = args.filter((arg) => PRESETS.includes(arg))
const vitestArgs = args.filter((arg) => !PRESETS.includes(arg))

await prepare({ build: true })
/** @type {string[]} */
const failed = []
for (const preset of named.length > 0 ? named : PRESETS) {
  console.log(`\n── preset ${preset}`)
  if ((await runScenarios(preset)) !== 0) failed.push(preset)
}
console.log(failed.length === 0 ? '✓ every preset passes' : `✕ failed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1

/**
 * @param {string} preset
 * @returns {Promise<number>}
 */
function runScenarios(preset) {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const child = spawn(
    process.execPath,
    [vitest, 'run', 'test/scenarios/', '--no-file-parallelism', ...vitestArgs],
    { cwd: root, stdio: 'inherit', env: { ...process.env, BELFRY_TEST_PRESET: preset } },
  )
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
}
