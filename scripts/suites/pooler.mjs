/**
 * Belfry through PgBouncer in transaction mode: what it refuses, two nodes on four connections, a node that is killed, a
 * pooler that is restarted under load. Installs PgBouncer where it can.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { findOrInstall } from './apt.mjs'
import { runSelected } from './selection.mjs'

/** Paths that test/support/pgbouncer.ts also tries. */
const PLACES = [
  '/usr/sbin/pgbouncer',
  '/usr/bin/pgbouncer',
  '/usr/local/bin/pgbouncer',
  '/opt/homebrew/bin/pgbouncer',
]
const ADVICE = `There is no PgBouncer in ${PLACES.join(', ')}. Install it: sudo apt-get install pgbouncer, dnf install pgbouncer or brew install pgbouncer`

/** @type {import('./index.mjs').Run} */
export function run(args, path) {
  // Debian's package starts its own service, which uses none of the ports of these tests and is left as it is.
  const program = findOrInstall(find, { debianPackage: 'pgbouncer', advice: ADVICE })
  console.log(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout.split('\n')[0])
  return runSelected(path, args)
}

const find = () => PLACES.find((place) => existsSync(place))
