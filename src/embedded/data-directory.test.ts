import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDataDirectory } from './data-directory.ts'
import { startEmbeddedPostgres } from './server.ts'
import { aDirectory, isRoot } from './test-support.ts'

const NOBODY = 65_534
let parent: string
let dataDir: string

beforeEach(() => {
  parent = aDirectory()
  dataDir = join(parent, 'data')
})
afterEach(() => {
  chmodSync(parent, 0o755)
  rmSync(parent, { recursive: true, force: true })
})

function leaveData(version: string) {
  mkdirSync(join(dataDir, 'pg'), { recursive: true })
  writeFileSync(join(dataDir, 'pg', 'PG_VERSION'), version)
  giveToServer()
}

/** As root the database runs as nobody, whose it must be. */
function giveToServer() {
  if (isRoot) chownSync(join(dataDir, 'pg'), NOBODY, NOBODY)
}

test('data of an older PostgreSQL is refused and left as it was', async () => {
  leaveData('17\n')

  await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({
    code: 'older_major',
    message: 'This data was written by PostgreSQL 17, but this release includes PostgreSQL 18.',
    hint: 'Use the older release of Belfry that wrote it, or use --data-dir DIR.',
  })

  expect(readdirSync(dataDir)).toEqual(['pg'])
  expect(readdirSync(join(dataDir, 'pg'))).toEqual(['PG_VERSION'])
})

test('data of a newer PostgreSQL is refused', async () => {
  leaveData('19\n')

  await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({ code: 'newer_major' })
})

test('a pg directory that contains no database is refused, not initialised', async () => {
  mkdirSync(join(dataDir, 'pg'), { recursive: true })
  giveToServer()

  await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({ code: 'data_dir_unrecognised' })
})

test('a file in place of the data directory is reported', async () => {
  writeFileSync(dataDir, '')

  await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({
    code: 'data_dir_unwritable',
    message: `Cannot write ${dataDir}: a file is in the way of the directory.`,
  })
})

test.runIf(isRoot)('as root, a parent directory closed to the database user is reported', async () => {
  chmodSync(parent, 0o700)

  await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({
    code: 'unreachable_directory',
    message: expect.stringContaining(`cannot reach ${dataDir} because of the permissions of ${parent}`),
  })

  expect(readdirSync(parent)).toEqual([])
})

test.runIf(isRoot)('as root, a private data directory is refused and its mode is left unchanged', () => {
  mkdirSync(dataDir, { mode: 0o700 })
  writeFileSync(join(dataDir, 'diary'), '')

  expect(() => openDataDirectory(dataDir, { major: 18 })).toThrow(/cannot reach/)

  expect(statSync(dataDir).mode & 0o777).toBe(0o700)
})

test.runIf(!isRoot)('a data directory without write permission is reported', async () => {
  mkdirSync(dataDir, { mode: 0o500 })

  await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({ code: 'data_dir_unwritable' })
})

test('a file in place of a parent directory is reported', async () => {
  writeFileSync(dataDir, '')

  await expect(startEmbeddedPostgres({ dataDir: join(dataDir, 'below') })).rejects.toMatchObject({
    code: 'data_dir_unwritable',
  })
})

test('missing parents are made', () => {
  const deep = join(parent, 'a/b/c')

  openDataDirectory(deep, { major: 18 })

  expect(existsSync(deep)).toBe(true)
})
