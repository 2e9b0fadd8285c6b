/** Runs vitest in this checkout, for the suites and for `npm run screenshots`. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from './bootstrap.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const SCENARIOS = ['--config', 'vitest.scenarios.config.ts']

/** @type {Promise<void> | undefined} */
let prepared

/**
 * Installs and builds before the first run only, so that all rounds of a suite test the same build.
 *
 * @param {string[]} args
 * @param {Record<string, string>} [env]
 * @returns {Promise<number>} the exit code
 */
export async function runVitest(args, env = {}) {
  prepared ??= prepare({ build: true })
  await prepared
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  })
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
}

/**
 * Runs `*.scenario.ts` files, which `npm test` leaves out.
 *
 * @param {string[]} args
 * @param {Record<string, string>} [env]
 */
export const runScenarios = (args, env) => runVitest([...SCENARIOS, ...args], env)
