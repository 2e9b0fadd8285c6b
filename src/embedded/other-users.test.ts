/** Started as root on a directory that other users can write to: nothing of root's is given away, read or changed. */
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { findBinaries, placeBinaries, postgresIn } from './binaries.ts'
import { openDataDirectory } from './data-directory.ts'
import { type Identity, usersOf } from './identity.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './server.ts'
import { boundLog } from './server-log.ts'
import { aDirectory, isRoot, query } from './test-support.ts'

vi.setConfig({ testTimeout: 120_000 })

/** Two users that every system has; initdb wants to know whom it runs as. */
const [ALICE, BOB] = usersOf(readFileSync('/etc/passwd', 'utf8')).filter(
  ({ name, uid }) => uid !== 0 && name !== 'nobody',
) as [Identity, Identity]
const SECRET = 'for root only\n'

let parent: string
let dataDir: string
let treasure: string
const running: EmbeddedPostgres[] = []

beforeEach(() => {
  parent = aDirectory()
  dataDir = join(parent, 'data')
  treasure = join(parent, 'treasure')
  writeFileSync(treasure, SECRET, { mode: 0o600 })
})
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop()
  rmSync(parent, { recursive: true, force: true })
})

async function start(runAs: string | null = null): Promise<EmbeddedPostgres> {
  const database = await startEmbeddedPostgres({ dataDir, runAs })
  running.push(database)
  return database
}

function directoryOf({ uid, gid }: Identity, dir = dataDir): void {
  mkdirSync(dir, { mode: 0o755 })
  chownSync(dir, uid, gid)
}

/** Every file below a directory, links as themselves. */
function ownersIn(dir: string): Set<number> {
  const names = readdirSync(dir, { recursive: true }) as string[]
  return new Set([dir, ...names.map((name) => join(dir, name))].map((path) => lstatSync(path).uid))
}

function expectTreasureUntouched(): void {
  const { uid, mode, size } = statSync(treasure)
  expect({ uid, mode: mode & 0o777, size }).toEqual({ uid: 0, mode: 0o600, size: SECRET.length })
  expect(readFileSync(treasure, 'utf8')).toBe(SECRET)
}

describe.runIf(isRoot)('as root, in the directory of another user', () => {
  test('the database runs as that user, who owns every file', async () => {
    directoryOf(ALICE)

    const database = await start()

    expect(await query(database.connectionString, 'select 1 as up')).toEqual([{ up: 1 }])
    expect(readFileSync(`/proc/${database.pid}/status`, 'utf8')).toMatch(
      new RegExp(`^Uid:\t${ALICE.uid}\t`, 'm'),
    )
    expect(ownersIn(dataDir)).toEqual(new Set([ALICE.uid]))
    expect([process.geteuid?.(), process.getegid?.()]).toEqual([0, 0])
  })

  test.each(['postgres.log', 'password'])('a symbolic link in place of %s is not followed', async (name) => {
    directoryOf(ALICE)
    symlinkSync(treasure, join(dataDir, name))

    await expect(start()).rejects.toMatchObject({
      code: 'data_dir_unwritable',
      message: expect.stringMatching(/^Cannot write .*: permission denied\.$/),
    })

    expectTreasureUntouched()
  })

  test('a symbolic link in place of the socket directory does not change what it points to', async () => {
    directoryOf(ALICE)
    const vault = join(parent, 'vault')
    mkdirSync(vault)
    symlinkSync(vault, join(dataDir, 'socket'))

    await start().catch(() => {})

    expect(statSync(vault).uid).toBe(0)
    expect(readdirSync(vault)).toEqual([])
  })

  test('a link in place of the old log is replaced, not followed', () => {
    directoryOf(ALICE)
    const log = join(dataDir, 'postgres.log')
    writeFileSync(log, '')
    truncateSync(log, 11 * 1024 * 1024)
    chownSync(log, ALICE.uid, ALICE.gid)
    symlinkSync(treasure, `${log}.1`)

    boundLog(openDataDirectory(dataDir, { major: 18 }))

    expectTreasureUntouched()
    expect(lstatSync(`${log}.1`)).toMatchObject({ uid: ALICE.uid, size: 11 * 1024 * 1024 })
  })

  test('a link to the database of a third user is refused', async () => {
    directoryOf(ALICE)
    directoryOf(BOB, join(parent, 'bob'))
    symlinkSync(join(parent, 'bob'), join(dataDir, 'pg'))

    await expect(start()).rejects.toMatchObject({
      code: 'unusable_user',
      message: `${dataDir} belongs to user '${ALICE.name}', but the database runs as '${BOB.name}'.`,
    })
  })

  test('binaries that only root can read are copied for that user', () => {
    directoryOf(ALICE)
    const packed = join(parent, 'package')
    mkdirSync(packed, { mode: 0o700 })
    cpSync(findBinaries().native, join(packed, 'native'), { recursive: true, verbatimSymlinks: true })
    const directory = openDataDirectory(dataDir, { major: 18 })

    const place = placeBinaries({ ...findBinaries(), native: join(packed, 'native') }, directory, () => {})

    expect(statSync(postgresIn(place))).toMatchObject({ uid: ALICE.uid })
    expect(ownersIn(dataDir)).toEqual(new Set([ALICE.uid]))
  })

  test('a subdirectory that Belfry creates belongs to the same user', () => {
    directoryOf(ALICE)

    openDataDirectory(join(dataDir, 'deeper/still'), { major: 18 })

    expect(statSync(join(dataDir, 'deeper/still')).uid).toBe(ALICE.uid)
  })

  test('a subdirectory that belongs to root is refused, because the user could replace it', () => {
    directoryOf(ALICE)
    const inside = join(dataDir, 'belfry')
    mkdirSync(inside)

    expect(() => openDataDirectory(inside, { major: 18 })).toThrow(
      `${dataDir} belongs to user '${ALICE.name}', who could replace it.`,
    )
  })
})

describe.runIf(isRoot)('as root, in a directory that belongs to root', () => {
  test('a directory that other users can write to becomes read-only for them', () => {
    mkdirSync(dataDir)
    chmodSync(dataDir, 0o777)

    openDataDirectory(dataDir, { major: 18 })

    expect(statSync(dataDir).mode & 0o777).toBe(0o755)
  })

  test('a directory in which other users could have left files is refused', async () => {
    mkdirSync(dataDir)
    chmodSync(dataDir, 0o777)
    writeFileSync(join(dataDir, 'belfry.json'), '{}')
    symlinkSync(treasure, join(dataDir, 'postgres.log'))

    await expect(start()).rejects.toMatchObject({
      code: 'unsafe_directory',
      message: expect.stringContaining("another user may have created 'postgres.log'"),
    })
    expectTreasureUntouched()
  })

  test('a shared directory with the sticky bit is refused and left unchanged', () => {
    mkdirSync(dataDir)
    chmodSync(dataDir, 0o1777)

    expect(() => openDataDirectory(dataDir, { major: 18 })).toThrow(/other users can write to it/)

    expect(statSync(dataDir).mode & 0o7777).toBe(0o1777)
  })
})

describe.runIf(isRoot)('as root, --run-as', () => {
  test('names the user of the database, and of nothing else', async () => {
    const database = await start(`${ALICE.uid}:${BOB.gid}`)

    const status = readFileSync(`/proc/${database.pid}/status`, 'utf8')
    expect(status).toMatch(new RegExp(`^Uid:\t${ALICE.uid}\t.*^Gid:\t${BOB.gid}\t`, 'ms'))
    expect(statSync(join(dataDir, 'pg')).uid).toBe(ALICE.uid)
    expect(statSync(join(dataDir, 'password'))).toMatchObject({ uid: 0 })
    expect(database.runsAs).toEqual({ ...ALICE, gid: BOB.gid })
  })

  test('refuses data that belongs to a different user', async () => {
    mkdirSync(join(dataDir, 'pg'), { recursive: true })
    chownSync(join(dataDir, 'pg'), BOB.uid, BOB.gid)

    await expect(start(ALICE.name)).rejects.toMatchObject({
      code: 'data_dir_unwritable',
      hint: `Change its owner to '${ALICE.name}', the user that the database runs as: chown -R ${ALICE.name} ${join(dataDir, 'pg')}`,
    })
  })

  test.each([
    ['no-such-user', "The user 'no-such-user' does not exist in /etc/passwd."],
    ['root', 'PostgreSQL refuses to run as root.'],
    ['0', 'PostgreSQL refuses to run as root.'],
  ])('the user %s is refused', async (name, message) => {
    await expect(start(name)).rejects.toMatchObject({ code: 'unusable_user', message })
    expect(readdirSync(parent)).toEqual(['treasure'])
  })
})

describe.runIf(!isRoot && process.getuid !== undefined)('as an ordinary user, --run-as', () => {
  test('is refused, unless it names that user', async () => {
    await expect(start('root')).rejects.toMatchObject({ code: 'unusable_user' })

    expect((await start(String(process.getuid?.()))).runsAs).toBeNull()
  })
})
