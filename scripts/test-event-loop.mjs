/**
 * `npm run test:event-loop`: every operation with the largest input that it takes, held to the promise that nobody waits for
 * longer than 200 ms meanwhile. Beside other tests the same files allow a second; this runs alone.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from './bootstrap.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const PROMISED_MS = '200'

await prepare({ build: true })
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
const child = spawn(process.execPath, [vitest, 'run', '--no-file-parallelism', 'test/event-loop'], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, BELFRY_TEST_HELD_MS: PROMISED_MS },
})
child.once('close', (code) => {
  process.exitCode = code ?? 1
})
