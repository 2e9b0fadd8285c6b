/**
 * `npm run test:clocks`: Belfry while clocks go wrong: nodes whose clocks are off by up to a day or too fast, a database whose
 * clock is set back, forward and slewed. Installs libfaketime where it can (Debian and the like, as root). Arguments are
 * vitest's: `npm run test:clocks -- -t 'half a second'`.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from './bootstrap.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Where test/clocks/faked-clock.ts looks as well, and in the folders below. */
const PLACES = ['/usr/lib', '/usr/lib64', '/usr/local/lib']
const LIBRARY = join('faketime', 'libfaketimeMT.so.1')

if (!isThere()) install()
if (!isThere()) {
  console.error(
    `There is no ${LIBRARY} below ${PLACES.join(', ')}. Install it: sudo apt-get install libfaketime, or dnf install libfaketime`,
  )
  process.exit(1)
}
await prepare({ build: true })
process.exitCode = await runTests()

function isThere() {
  const below = PLACES.flatMap((place) =>
    existsSync(place) ? readdirSync(place).map((name) => join(place, name)) : [],
  )
  return [...PLACES, ...below].some((place) => existsSync(join(place, LIBRARY)))
}

function install() {
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) return
  console.log('Installing libfaketime …')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const aptGet = (/** @type {string[]} */ ...args) =>
    spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
  const flags = ['-y', '--no-install-recommends']
  if (!aptGet('install', ...flags, 'libfaketime'))
    aptGet('update') && aptGet('install', ...flags, 'libfaketime')
}

/** @returns {Promise<number>} */
function runTests() {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const args = ['run', '--config', 'vitest.scenarios.config.ts', 'test/clocks', ...process.argv.slice(2)]
  const child = spawn(process.execPath, [vitest, ...args], { cwd: root, stdio: 'inherit' })
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
}
