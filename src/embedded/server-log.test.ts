import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { boundLog, explainFailure, readLogSince } from './server-log.ts'
import { aDirectory } from './test-support.ts'

let dir: string
let log: string

beforeEach(() => {
  dir = aDirectory()
  log = join(dir, 'postgres.log')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('a log that is too large is copied aside and emptied, so that the server keeps writing to the same file', () => {
  writeFileSync(log, Buffer.alloc(11 * 1024 * 1024, 'x'))
  const { ino } = statSync(log)

  boundLog({ log, owner: null })

  expect(statSync(log)).toMatchObject({ size: 0, ino })
  expect(statSync(`${log}.1`).size).toBe(11 * 1024 * 1024)
})

test('a small log is left alone', () => {
  writeFileSync(log, 'a line\n')

  boundLog({ log, owner: null })

  expect(readFileSync(log, 'utf8')).toBe('a line\n')
  expect(readLogSince({ log, owner: null }, 2)).toBe('line\n')
})

test.each([
  ['FATAL:  could not write lock file "postmaster.pid": No space left on device', 'disk_full'],
  ['initdb: error: could not create directory "/x": Read-only file system', 'data_dir_unwritable'],
  ['FATAL:  could not map anonymous shared memory: Cannot allocate memory', 'start_failed'],
])('%s → %s', (said, code) => {
  expect(explainFailure(said, { root: dir, log })).toMatchObject({ code })
})

test('any other failure is reported in the words of the server', () => {
  const said = '2026-01-01 00:00:00.000 UTC [7] FATAL:  could not map anonymous shared memory\nHINT:  more'

  expect(explainFailure(said, { root: dir, log }).message).toBe(
    'The embedded database did not start: could not map anonymous shared memory.',
  )
})
