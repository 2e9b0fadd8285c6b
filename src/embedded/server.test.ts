import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { isAlive } from '../runtime/process-identity.ts'
import {
  type EmbeddedPostgres,
  readOwner,
  startEmbeddedPostgres,
  superviseEmbeddedPostgres,
} from './server.ts'
import { aDirectory, buildProgram, isRoot, query, run, until, untilDead } from './test-support.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let program: Awaited<ReturnType<typeof buildProgram>>
let parent: string
let dataDir: string
const running: { stop(): Promise<void> }[] = []

beforeAll(async () => {
  program = await buildProgram()
})
afterAll(() => program.remove())

/** Each test goes on with the data the one before left, so the database is made only a few times. */
beforeAll(() => {
  parent = aDirectory()
  dataDir = join(parent, 'Dätä, of & sorts') // A name that has to be quoted everywhere.
})
afterAll(() => rmSync(parent, { recursive: true, force: true }))
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop()
})

async function start(dir = dataDir): Promise<EmbeddedPostgres> {
  const database = await startEmbeddedPostgres({ dataDir: dir })
  running.push(database)
  return database
}

function startElsewhere(dir = dataDir, uid?: number) {
  const process = run(program.path, 'start', dir, uid)
  running.push({ stop: () => process.finish() })
  return process
}

test('data survives a stop and a start', async () => {
  const first = await start()
  await query(first.connectionString, 'create table kept as select 42 as answer')
  await first.stop()
  const second = await start()

  expect(await query(second.connectionString, 'select answer from kept')).toEqual([{ answer: 42 }])
  expect([first.initialised, second.initialised]).toEqual([true, false])
  expect(second).toMatchObject({ version: '18.4', adopted: false, recoveredMs: null })
  expect(second.connectionString).toBe(first.connectionString)
})

test('committed data is flushed to disk, and the server does not listen on the network', async () => {
  const database = await start()

  const rows = await query(
    database.connectionString,
    `select name, setting from pg_settings where name in
     ('fsync', 'synchronous_commit', 'full_page_writes', 'listen_addresses', 'TimeZone', 'server_encoding', 'jit')`,
  )

  expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    listen_addresses: '',
    TimeZone: 'UTC',
    server_encoding: 'UTF8',
    jit: 'off',
  })
})

test('data and password are closed to other users, and no temporary files remain', async () => {
  await start()

  expect(statSync(join(dataDir, 'pg')).mode & 0o777).toBe(0o700)
  expect(statSync(join(dataDir, 'password')).mode & 0o777).toBe(0o600)
  expect(readdirSync(dataDir).sort()).toEqual(['belfry.json', 'password', 'pg', 'postgres.log', 'socket'])
})

test('after a restart a killed server has all committed data', async () => {
  const database = await start()
  await query(database.connectionString, 'insert into kept values (43)')
  const exited = new Promise<void>((resolve) => database.onExit(resolve))
  process.kill(database.pid, 'SIGKILL')
  await exited

  await database.restart()

  expect(await query(database.connectionString, 'select answer from kept order by 1')).toEqual([
    { answer: 42 },
    { answer: 43 },
  ])
  expect(database.recoveredMs).toBeGreaterThan(0)
})

test('supervision brings a killed server back under the same address', async () => {
  const database = await start()
  const said: string[] = []
  const release = superviseEmbeddedPostgres(database, {
    log: (text) => said.push(text),
    onGivenUp: (error) => said.push(String(error)),
  })
  const killed = database.pid

  process.kill(killed, 'SIGKILL')
  await until('the database is back', () => said.some((text) => text.includes('is available again after')))
  release()

  expect(await query(database.connectionString, 'select 1 as up')).toEqual([{ up: 1 }])
  expect(database.pid).not.toBe(killed)
  expect(said).toHaveLength(2)
})

test('a stop is not mistaken for a crash', async () => {
  const database = await start()
  let exits = 0
  database.onExit(() => {
    exits += 1
  })

  await Promise.all([database.stop(), database.stop()])

  expect(exits).toBe(0)
  expect(isAlive(database.pid)).toBe(false)
  expect(readOwner(dataDir)).toBeNull()
})

test('after a crash of the whole machine the stale pid file does not prevent a start', async () => {
  const crashed = startElsewhere()
  const { databasePid = 0 } = await crashed.told
  await crashed.kill()
  process.kill(databasePid, 'SIGKILL')
  await untilDead(databasePid)
  expect(readFileSync(join(dataDir, 'pg/postmaster.pid'), 'utf8')).toContain(String(databasePid))

  const database = await start()

  expect(database).toMatchObject({ adopted: false, initialised: false })
  expect(database.recoveredMs).toBeGreaterThan(0)
})

test('a pid file with the pid of another program does not prevent a start', async () => {
  const pidFile = join(dataDir, 'pg/postmaster.pid')
  writeFileSync(pidFile, [process.pid, join(dataDir, 'pg'), 1, 5432, '', '', '1 1', 'ready', ''].join('\n'))
  const { uid, gid } = statSync(join(dataDir, 'pg'))
  chownSync(pidFile, uid, gid)

  const database = await start()

  expect(database.adopted).toBe(false)
})

test('a server that outlived its Belfry process is adopted, and stopped with the new one', async () => {
  const crashed = startElsewhere()
  const { databasePid = 0, connectionString } = await crashed.told
  await crashed.kill()

  const database = await start()
  expect(database).toMatchObject({ adopted: true, pid: databasePid, connectionString })
  expect(await query(database.connectionString, 'select 1 as up')).toEqual([{ up: 1 }])
  await database.stop()

  expect(isAlive(databasePid)).toBe(false)
})

test('the exit of an adopted server is noticed, and the server can be restarted', async () => {
  const crashed = startElsewhere()
  await crashed.told
  await crashed.kill()
  const database = await start()
  const exited = new Promise<void>((resolve) => database.onExit(resolve))

  process.kill(database.pid, 'SIGKILL')
  await exited
  await database.restart()

  expect(database.adopted).toBe(false)
  expect(await query(database.connectionString, 'select 1 as up')).toEqual([{ up: 1 }])
})

test('a second Belfry on the same data is refused with the pid and the URL of the first', async () => {
  const database = await start()
  database.owner.update({ url: 'http://127.0.0.1:3369', nodeId: 'a' })

  const second = await startElsewhere().told

  expect(second).toMatchObject({
    code: 'data_dir_in_use',
    message: `Already running (pid ${process.pid}, http://127.0.0.1:3369).`,
  })
  await expect(start()).rejects.toMatchObject({ holder: { pid: process.pid, url: 'http://127.0.0.1:3369' } })
  expect(await query(database.connectionString, 'select 1 as up')).toEqual([{ up: 1 }])
})

test('of two Belfry processes started at once, one gets the data', async () => {
  const told = await Promise.all([startElsewhere().told, startElsewhere().told])

  expect(told.map(({ code }) => code ?? 'started').sort()).toEqual(['data_dir_in_use', 'started'])
})

test('a path too long for a socket gets a loopback port, which stays the same after a restart', async () => {
  const long = join(parent, 'a-directory-with-a-rather-long-name-'.repeat(3))
  const first = await start(long)
  await first.stop()
  const second = await start(long)

  expect(first.connectionString).toMatch(/@127\.0\.0\.1:\d+\/belfry$/)
  expect(second.connectionString).toBe(first.connectionString)
  expect(await query(second.connectionString, 'select 1 as up')).toEqual([{ up: 1 }])
})

test.runIf(isRoot)('an ordinary user can start the database without root', async () => {
  const home = join(parent, 'home')
  mkdirSync(home)
  chownSync(home, 65_534, 65_534)
  chmodSync(home, 0o700)

  const told = await startElsewhere(join(home, 'belfry'), 65_534).told

  expect(told.code).toBeUndefined()
  expect(told.connectionString).toBeDefined()
  expect(statSync(join(home, 'belfry/pg')).uid).toBe(65_534)
})

test.runIf(isRoot)('as root, the server runs as another user and without extra groups', async () => {
  const database = await start()

  const status = readFileSync(`/proc/${database.pid}/status`, 'utf8')

  expect(status).toMatch(/^Uid:\t(?!0\t)/m)
  expect(status).toMatch(/^Groups:\s*$/m)
})
