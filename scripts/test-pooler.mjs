/**
 * `npm run test:pooler`: Belfry through PgBouncer in transaction mode: what it refuses, two nodes on four
 * connections, a node that is killed, a pooler that is restarted under load. Installs PgBouncer where it can
 * (Debian and the like, as root). Arguments are vitest's: `npm run test:pooler -- -t restarted`.
 */

import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from './bootstrap.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Where test/support/pgbouncer.ts looks as well. */
const PLACES = [
  '/usr/sbin/pgbouncer',
  '/usr/bin/pgbouncer',
  '/usr/local/bin/pgbouncer',
  '/opt/homebrew/bin/pgbouncer',
]

const program = find() ?? install() ?? giveUp()
await prepare({ build: true })
console.log(versionOf(program))
process.exitCode = await runTests()

function find() {
  return PLACES.find((place) => existsSync(place))
}

/** Debian's package starts a service of its own, which needs no port of ours and stays as it is. */
function install() {
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) return undefined
  console.log('Installing pgbouncer …')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const aptGet = (/** @type {string[]} */ ...args) =>
    spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
  const flags = ['-y', '--no-install-recommends', '-o', 'Dpkg::Options::=--force-confold']
  if (!aptGet('install', ...flags, 'pgbouncer')) aptGet('update') && aptGet('install', ...flags, 'pgbouncer')
  return find()
}

/** @returns {never} */
function giveUp() {
  console.error(
    `There is no PgBouncer in ${PLACES.join(', ')}. Install it: sudo apt-get install pgbouncer, dnf install pgbouncer or brew install pgbouncer`,
  )
  process.exit(1)
}

/** @param {string} path */
function versionOf(path) {
  return spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout.split('\n')[0]
}

/** @returns {Promise<number>} */
function runTests() {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const child = spawn(
    process.execPath,
    [vitest, 'run', '--config', 'vitest.scenarios.config.ts', 'test/pooler/', ...process.argv.slice(2)],
    { cwd: root, stdio: 'inherit' },
  )
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
}
