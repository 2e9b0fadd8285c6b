/**
 * What a newcomer does: clones the committed state into a new directory, runs `npm start` there until the banner, stops it as
 * Ctrl-C in a terminal would, starts it again, and prints how long each took. As root it does so twice: as root, and as a
 * user without any rights.
 */

import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SuiteError } from './suite-error.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const NOBODY = 65_534
const BANNER = /API {2,}(http:\S+)\/v1\/tasks[\s\S]*Ready\./
const FIRST_START_MS = 5 * 60_000
const LATER_START_MS = 60_000
const STOP_MS = 60_000

/**
 * @typedef {{ name: string, uid?: number }} User
 * @typedef {{ clone: string, home: string, user: User }} Place
 */

/** @type {import('./index.mjs').Run} */
export async function run(args) {
  if (args.length > 0) throw new SuiteError('This suite has no arguments.', { exitCode: 2 })
  const users =
    process.getuid?.() === 0 ? [{ name: 'root' }, { name: 'nobody', uid: NOBODY }] : [{ name: 'this user' }]
  let failed = 0
  for (const user of users) if (!(await tryAs(user))) failed++
  return failed === 0 ? 0 : 1
}

/**
 * @param {User} user
 * @returns {Promise<boolean>} whether it worked
 */
async function tryAs(user) {
  const base = mkdtempSync(join(tmpdir(), 'belfry-fresh-'))
  chmodSync(base, 0o755)
  try {
    const place = prepare(base, user)
    const first = await startAndStop(place, FIRST_START_MS)
    const second = await startAndStop(place, LATER_START_MS)
    console.log(
      `✓ as ${user.name}: first start ${first.toFixed(1)} s with the install, second ${second.toFixed(1)} s`,
    )
    return true
  } catch (error) {
    console.error(`✕ as ${user.name}: ${error instanceof Error ? error.message : error}`)
    return false
  } finally {
    rmSync(base, { recursive: true, force: true })
  }
}

/**
 * @param {string} base
 * @param {User} user
 * @returns {Place}
 */
function prepare(base, user) {
  const clone = join(base, 'belfry')
  const home = join(base, 'home')
  execute('git', ['clone', '--quiet', '--no-hardlinks', root, clone])
  mkdirSync(home)
  if (user.uid !== undefined) execute('chown', ['-R', `${user.uid}:${user.uid}`, base])
  return { clone, home, user }
}

/**
 * @param {Place} place
 * @param {number} limitMs
 * @returns {Promise<number>} seconds until the banner
 */
async function startAndStop({ clone, home, user }, limitMs) {
  const startedAt = performance.now()
  const data = join(home, 'data')
  const child = spawn('npm', ['start', '--', '--port', '0', '--data-dir', data], {
    cwd: clone,
    env: environmentOf(home),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // A process group of its own, which Ctrl-C reaches as a whole.
    ...(user.uid === undefined ? {} : { uid: user.uid, gid: user.uid }),
  })
  let said = ''
  const ended = new Promise((resolve) => child.once('close', (code) => resolve(code)))
  const ready = new Promise((resolve) => {
    const listen = (/** @type {Buffer} */ chunk) => {
      said += chunk
      const match = BANNER.exec(said)
      if (match) resolve(match[1])
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
  })
  try {
    const url = await within(limitMs, Promise.race([ready, ended.then(() => null)]))
    if (typeof url !== 'string') throw new Error(`npm start did not get to its banner:\n${said}`)
    const seconds = (performance.now() - startedAt) / 1000
    const { status } = await fetch(`${url}/readyz`)
    if (status !== 200) throw new Error(`/readyz answers ${status}`)
    signal(child.pid, 'SIGINT')
    if ((await within(STOP_MS, ended)) === undefined) throw new Error(`it does not stop:\n${said}`)
    if (!/Stopped\.\s*$/m.test(said)) throw new Error(`it did not stop in good order:\n${said}`)
    if (existsSync(join(data, 'pg', 'postmaster.pid'))) throw new Error('it left its database running')
    return seconds
  } finally {
    signal(child.pid, 'SIGKILL')
  }
}

/** The environment of a login shell, with its own home and cache. */
function environmentOf(/** @type {string} */ home) {
  const { PATH, LANG, HTTP_PROXY, HTTPS_PROXY, NO_PROXY, http_proxy, https_proxy, no_proxy } = process.env
  const { NODE_EXTRA_CA_CERTS, npm_config_registry } = process.env
  return {
    ...{ PATH, LANG, HTTP_PROXY, HTTPS_PROXY, NO_PROXY, http_proxy, https_proxy, no_proxy },
    ...{ NODE_EXTRA_CA_CERTS, npm_config_registry },
    HOME: home,
    npm_config_cache: join(home, 'npm-cache'),
  }
}

/**
 * @template T
 * @param {number} ms
 * @param {Promise<T>} promise
 * @returns {Promise<T | undefined>} undefined when it takes longer
 */
async function within(ms, promise) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  const result = await Promise.race([promise, late])
  clearTimeout(timer)
  return result
}

/**
 * @param {number | undefined} group
 * @param {NodeJS.Signals} name
 */
function signal(group, name) {
  try {
    if (group !== undefined) process.kill(-group, name)
  } catch {
    // All processes of the group have ended.
  }
}

/**
 * @param {string} command
 * @param {string[]} args
 */
function execute(command, args) {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`)
}
