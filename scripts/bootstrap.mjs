/**
 * Makes a fresh clone ready: packages installed, program built. Does nothing, quickly and silently, when
 * both are. Uses nothing that has to be installed first.
 */

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildInChild, isBuilt } from './build.mjs'
import { InstallError, install, isInstalled } from './install.mjs'
import { withLock } from './lock.mjs'
import { withProgress } from './progress.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const NEEDED = { major: 20, minor: 19 }

/**
 * Prepares the checkout; ends the process with a sentence on stderr if that fails.
 *
 * @param {{ build: boolean }} wanted
 */
export async function prepare(wanted) {
  checkNode()
  const isReady = () => isInstalled() && (!wanted.build || isBuilt())
  try {
    if (isReady()) return
    await withLock(join(root, '.belfry', 'bootstrap.lock'), tellWait, async (nameChild) => {
      if (!isInstalled()) await withProgress('Installing packages', () => install(nameChild))
      if (wanted.build && !isBuilt()) await withProgress('Building', () => buildInChild(nameChild))
    })
  } catch (error) {
    if (error instanceof InstallError) process.stderr.write(`${error.output}\n`)
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exit(1)
  }
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > NEEDED.major || (major === NEEDED.major && minor >= NEEDED.minor)) return
  process.stderr.write(
    `Belfry needs Node ${NEEDED.major}.${NEEDED.minor} or newer; this is ${major}.${minor}. ` +
      'Install: https://nodejs.org\n',
  )
  process.exit(2)
}

/** @param {number} pid */
function tellWait(pid) {
  process.stderr.write(`Another process (pid ${pid}) is installing or building here; waiting for it.\n`)
}
