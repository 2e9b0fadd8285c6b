/**
 * Installs the packages of the lockfile unless they are installed already. `node_modules/.belfry-lock-hash` records which
 * lockfile was installed and is written only after success, so an interrupted install is repeated.
 */

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const lockfile = join(root, 'package-lock.json')
const stamp = join(root, 'node_modules', '.belfry-lock-hash')
/** npm writes this one itself, last of all. */
const installedLockfile = join(root, 'node_modules', '.package-lock.json')
const SHOWN_LINES = 40
const KEPT_CHARS = 64 * 1024

export class InstallError extends Error {
  /** @param {string} output the last lines npm printed */
  constructor(output) {
    super('Installing the packages failed; npm says why above.')
    this.output = output
  }
}

/** Whether the packages of the lockfile are installed, by us or by someone else's npm. */
export function isInstalled() {
  if (!existsSync(installedLockfile)) return false
  const hash = lockHash()
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return true
  if (!holdsWhatIsLocked()) return false
  try {
    writeFileSync(stamp, hash)
  } catch {
    // If the installation is read-only, it is compared again each time.
  }
  return true
}

/** @param {(pid: number) => void} nameChild told which process does it */
export async function install(nameChild) {
  const { code, output } = await runNpm(nameChild, [
    'ci',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--include=dev',
    '--no-progress',
  ])
  if (code !== 0) throw new InstallError(lastLines(withoutUsage(output)))
  writeFileSync(stamp, lockHash())
}

/** npm follows some errors with a page on how to use it, which would push the error itself out of sight. */
function withoutUsage(/** @type {string} */ output) {
  return output.split(/^npm error Clean install a project$/m)[0] ?? output
}

function lastLines(/** @type {string} */ output) {
  return output.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n')
}

function lockHash() {
  return createHash('sha256').update(readFileSync(lockfile)).digest('hex')
}

/** Every package in its locked version; those for other platforms may be missing. */
function holdsWhatIsLocked() {
  const locked = packagesIn(lockfile)
  const installed = packagesIn(installedLockfile)
  return Object.entries(locked)
    .filter(([path]) => path.includes('node_modules/'))
    .every(([path, { version, resolved, integrity, link, optional, devOptional }]) => {
      const found = installed[path]
      if (found === undefined) return optional === true || devOptional === true
      if (link) return found.resolved === resolved
      return found.version === version && found.integrity === integrity
    })
}

/**
 * @param {string} file
 * @returns {Record<string, { version?: string, resolved?: string, integrity?: string, link?: boolean, optional?: boolean, devOptional?: boolean }>}
 */
function packagesIn(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages ?? {}
  } catch {
    return {}
  }
}

/**
 * @param {(pid: number) => void} nameChild
 * @param {string[]} args
 * @returns {Promise<{ code: number | null, output: string }>}
 */
function runNpm(nameChild, args) {
  const [command, ...before] = npmCommand()
  return new Promise((resolve) => {
    const child = spawn(command ?? 'npm', [...before, ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32' && before.length === 0,
    })
    if (child.pid !== undefined) nameChild(child.pid)
    let output = ''
    const keep = (/** @type {Buffer} */ chunk) => {
      output = (output + chunk).slice(-KEPT_CHARS)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.once('error', (error) => resolve({ code: null, output: `Cannot run npm: ${error.message}` }))
    child.once('close', (code) => resolve({ code, output }))
  })
}

/** Returns the npm that started this process, if one did; otherwise the npm on the path. */
function npmCommand() {
  const running = process.env.npm_execpath
  return running && basename(running) === 'npm-cli.js' ? [process.execPath, running] : ['npm']
}
