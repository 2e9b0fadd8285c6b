/** Programs that a suite needs from the system. */
import { spawnSync } from 'node:child_process'
import { SuiteError } from './suite-error.mjs'

const FLAGS = ['-y', '--no-install-recommends', '-o', 'Dpkg::Options::=--force-confold']

/** Only root can install, and only Debian and its derivatives have apt-get. */
export const canInstall = () => process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0

/**
 * What `find` finds, after installing the package if that is necessary and possible.
 *
 * @template T
 * @param {() => T | undefined} find
 * @param {{ debianPackage: string, advice: string }} options the advice is for the person who has to install it
 * @returns {T}
 */
export function findOrInstall(find, { debianPackage, advice }) {
  if (find() === undefined) install(debianPackage)
  const found = find()
  if (found === undefined) throw new SuiteError(advice, { exitCode: 1 })
  return found
}

/** Renews the package lists only if they no longer lead to the package. @param {string} name */
function install(name) {
  if (!canInstall()) return
  console.log(`Installing ${name} …`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const aptGet = (/** @type {string[]} */ ...args) =>
    spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
  if (!aptGet('install', ...FLAGS, name)) aptGet('update') && aptGet('install', ...FLAGS, name)
}
