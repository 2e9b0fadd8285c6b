/**
 * The tests that use a database, on a PostgreSQL of the system's instead of the embedded one. Takes the oldest server it
 * finds, since that is where the SQL is most likely to fail; a number chooses another major (`npm run suite postgres 16`), and
 * further arguments are vitest's. Installs PostgreSQL where it can.
 */

import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { prepare } from '../bootstrap.mjs'
import { runVitest } from '../vitest.mjs'
import { canInstall, findOrInstall } from './apt.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const DEBIAN = '/usr/lib/postgresql'
const OLDEST_MAJOR = 15
const NOBODY = 65_534
const ELSEWHERE = [
  join('src', 'core'),
  join('src', 'embedded'),
  join('test', 'project'),
  join('test', 'browser'),
  join('test', 'calls', 'forbidden-addresses'),
]
const READY_MS = 30_000
const POLL_MS = 50

const isRoot = process.getuid?.() === 0
const asServer = isRoot ? { uid: NOBODY, gid: NOBODY } : {}

/** @type {import('./index.mjs').Run} */
export async function run(args) {
  const [first = '', ...rest] = args
  const wanted = /^\d+$/.test(first) ? Number(first) : null
  const major = findOrInstallServer(wanted)
  await prepare({ build: true })
  const base = mkdtempSync(join(tmpdir(), 'belfry-postgres-'))
  try {
    const { url, stop } = await startServer(join(DEBIAN, String(major), 'bin'), base)
    console.log(`PostgreSQL ${major}, in ${base}`)
    const code = await runTests(url, wanted === null ? args : rest)
    await stop()
    return code
  } finally {
    rmSync(base, { recursive: true, force: true })
  }
}

/** @param {number | null} wanted a major version */
function findOrInstallServer(wanted) {
  const find = () => findServer(wanted)
  if (find() === undefined && canInstall()) preventCluster()
  const debianPackage = `postgresql-${wanted ?? OLDEST_MAJOR}`
  return findOrInstall(find, {
    debianPackage,
    advice: `There is no PostgreSQL server in ${DEBIAN}. Install one: sudo apt-get install ${debianPackage}`,
  })
}

/** The oldest major that is installed and supported, or the one that was asked for. @param {number | null} wanted */
function findServer(wanted) {
  const majors = existsSync(DEBIAN) ? readdirSync(DEBIAN).map(Number) : []
  return majors
    .filter((found) => existsSync(join(DEBIAN, String(found), 'bin', 'postgres')))
    .filter((found) => (wanted === null ? found >= OLDEST_MAJOR : found === wanted))
    .sort((a, b) => a - b)[0]
}

/** Prevents Debian's package from creating and starting its own cluster on port 5432. */
function preventCluster() {
  const configuration = '/etc/postgresql-common/createcluster.conf'
  if (existsSync(configuration)) return
  mkdirSync('/etc/postgresql-common', { recursive: true })
  writeFileSync(configuration, 'create_main_cluster = false\n')
}

/**
 * A cluster that lasts as long as the tests.
 *
 * @param {string} bin
 * @param {string} base
 */
async function startServer(bin, base) {
  chmodSync(base, 0o755)
  const data = join(base, 'data')
  const passwordFile = join(base, 'password')
  const password = randomBytes(12).toString('hex')
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(passwordFile, password)
  if (isRoot) for (const path of [data, passwordFile]) chownSync(path, NOBODY, NOBODY)
  const made = spawnSync(
    join(bin, 'initdb'),
    [
      '-D',
      data,
      '-U',
      'belfry',
      '-A',
      'scram-sha-256',
      '--pwfile',
      passwordFile,
      '-E',
      'UTF8',
      '--locale=C',
      '-N',
    ],
    { ...asServer, cwd: base, encoding: 'utf8' },
  )
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)

  const port = await freePort()
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    fsync: 'off', // Tests kill processes, not the power.
    full_page_writes: 'off',
  }
  const server = spawn(
    join(bin, 'postgres'),
    ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...asServer, cwd: base, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let log = ''
  server.stderr.on('data', (chunk) => {
    log = (log + chunk).slice(-10_000)
  })
  const ended = new Promise((resolve) => server.once('exit', resolve))
  const stop = async () => {
    server.kill('SIGINT')
    await ended
  }
  process.once('exit', () => server.kill('SIGQUIT'))
  const deadline = performance.now() + READY_MS
  while (!isReady(data)) {
    if (server.exitCode !== null || performance.now() > deadline)
      throw new Error(`PostgreSQL does not start:\n${log}`)
    await delay(POLL_MS)
  }
  return { url: `postgresql://belfry:${password}@127.0.0.1:${port}/postgres`, stop }
}

/** Returns whether the server has noted in postmaster.pid that it accepts connections. */
function isReady(/** @type {string} */ data) {
  try {
    return readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[7]?.trim() === 'ready'
  } catch {
    return false
  }
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

/**
 * @param {string} url
 * @param {string[]} args
 */
function runTests(url, args) {
  const excluded = testFiles().filter((file) => !dependsOnTheServer(file))
  return runVitest([...excluded.flatMap((file) => ['--exclude', file]), ...args], {
    BELFRY_TEST_DATABASE_URL: url,
  })
}

function testFiles() {
  return ['src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => join(folder, name)),
  )
}

/**
 * Returns whether a test file uses the server. These do not: pure tests, tests that read the sources, tests of the embedded
 * database itself, programs started with it, screens, and tests in a separate network, whose loopback is not the one that this
 * server listens on.
 */
function dependsOnTheServer(/** @type {string} */ file) {
  if (ELSEWHERE.some((folder) => file.startsWith(folder))) return false
  const text = readFileSync(join(root, file), 'utf8')
  return !text.includes('support/process.ts') || text.includes('support/database.ts')
}
