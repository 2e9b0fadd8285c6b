/**
 * Nodes whose clocks are off by up to a day or too fast, and a database whose clock is set back, forward and slewed.
 * Installs libfaketime where it can.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { findOrInstall } from './apt.mjs'
import { runSelected } from './selection.mjs'

/** Folders that test/clocks/faked-clock.ts also searches, with the folders in them. */
const PLACES = ['/usr/lib', '/usr/lib64', '/usr/local/lib']
const LIBRARY = join('faketime', 'libfaketimeMT.so.1')
const ADVICE = `There is no ${LIBRARY} below ${PLACES.join(', ')}. Install it: sudo apt-get install libfaketime, or dnf install libfaketime`

/** @type {import('./index.mjs').Run} */
export function run(args, path) {
  findOrInstall(findLibrary, { debianPackage: 'libfaketime', advice: ADVICE })
  return runSelected(path, args)
}

function findLibrary() {
  const below = PLACES.flatMap((place) =>
    existsSync(place) ? readdirSync(place).map((name) => join(place, name)) : [],
  )
  return [...PLACES, ...below].map((place) => join(place, LIBRARY)).find((file) => existsSync(file))
}
