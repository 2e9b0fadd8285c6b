import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { findBinaries, healLinks, placeBinaries, postgresIn, removeOldCopies } from './binaries.ts'
import { openDataDirectory } from './data-directory.ts'
import { aDirectory, isRoot } from './test-support.ts'

vi.setConfig({ testTimeout: 120_000 })

let parent: string

beforeEach(() => {
  parent = aDirectory()
})
afterEach(() => rmSync(parent, { recursive: true, force: true }))

/** An installation as it is when install scripts were not run: no links. */
function installWithoutLinks(): string {
  const native = join(parent, 'package', 'native')
  cpSync(findBinaries().native, native, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !lstatSync(path).isSymbolicLink(),
  })
  return native
}

test('missing library links are made', () => {
  const native = join(parent, 'native')
  mkdirSync(join(native, 'lib'), { recursive: true })
  writeFileSync(join(native, 'lib', 'libpq.so.5.18'), '')
  const link = { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }
  writeFileSync(join(native, 'pg-symlinks.json'), JSON.stringify([link]))

  expect(healLinks(native)).toBe(true)
  expect(healLinks(native)).toBe(true)

  expect(readlinkSync(join(native, 'lib', 'libpq.so.5'))).toBe('libpq.so.5.18')
})

test('an installation without links runs in place after its links are created', () => {
  const native = installWithoutLinks()
  const directory = openDataDirectory(join(parent, 'data'), { major: 18 })

  const place = placeBinaries({ ...findBinaries(), native }, directory, () => {})

  expect(place).toBe(native)
  expect(execFileSync(postgresIn(place), ['--version'], { encoding: 'utf8' })).toContain('18.4')
})

test.runIf(isRoot)('an installation that other users cannot reach is copied once and runs for them', () => {
  const native = installWithoutLinks()
  chmodSync(join(parent, 'package'), 0o700)
  const directory = openDataDirectory(join(parent, 'data'), { major: 18 })
  const steps: string[] = []

  const place = placeBinaries({ ...findBinaries(), native }, directory, (text) => steps.push(text))
  const again = placeBinaries({ ...findBinaries(), native }, directory, (text) => steps.push(text))

  expect(place).toBe(join(parent, 'data', `postgres-${findBinaries().version}`))
  expect(again).toBe(place)
  expect(steps).toEqual(['copying the database binaries'])
  const output = execFileSync(postgresIn(place), ['--version'], {
    encoding: 'utf8',
    uid: 65_534,
    gid: 65_534,
  })
  expect(output).toContain('18.4')
})

test('copies of earlier versions are cleared away', () => {
  const directory = openDataDirectory(join(parent, 'data'), { major: 18 })
  const current = join(directory.root, 'postgres-18.4.0')
  mkdirSync(join(directory.root, 'postgres-18.3.0'))
  mkdirSync(current)
  writeFileSync(directory.log, '')

  removeOldCopies(directory, current)

  expect(readdirSync(directory.root).sort()).toEqual(['postgres-18.4.0', 'postgres.log'])
})
