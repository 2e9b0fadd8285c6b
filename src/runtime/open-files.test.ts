import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fileWarning, neededFiles, openFileLimit, shareFiles } from './open-files.ts'

const needs = { maxCalls: 4_096, apiConnections: 10_000, databaseConnections: 30 }

test('with no limit or a high one, all connections are available as configured', () => {
  for (const limit of [undefined, 100_000]) {
    expect(shareFiles(limit, needs)).toEqual({
      maxCalls: 4_096,
      apiConnections: 10_000,
      idleConnections: 1_024,
    })
    expect(fileWarning(limit, needs)).toBeUndefined()
  }
})

test('connections to the API are the first to be lowered', () => {
  const limit = neededFiles(needs)

  expect(shareFiles(limit, needs)).toEqual({ maxCalls: 4_096, apiConnections: 256, idleConnections: 1_024 })
  expect(fileWarning(limit, needs)).toBeUndefined()
})

test.each([64, 200, 256, 1_024, 4_096, 5_000])('with %s files, all shares together fit', (limit) => {
  const { maxCalls, apiConnections, idleConnections } = shareFiles(limit, needs)

  expect(Math.min(maxCalls, apiConnections, idleConnections)).toBeGreaterThan(0)
  expect(maxCalls).toBeLessThan(needs.maxCalls)
  expect(maxCalls + idleConnections + apiConnections).toBeLessThanOrEqual(limit - Math.min(limit / 4, 130))
})

test('a warning says how many calls there are and what to run', () => {
  expect(fileWarning(1_024, needs)).toBe(
    'this process may open 1024 files, which is enough for 510 concurrent calls instead of 4096; run "ulimit -n 5506" ' +
      'before belfry start (systemd: LimitNOFILE=5506, Docker: --ulimit nofile=5506)',
  )
})

test.skipIf(process.platform !== 'linux')('the limit is the one that the kernel has', () => {
  const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []

  expect(openFileLimit()).toBe(Number(soft))
})
