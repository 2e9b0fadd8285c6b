import { expect, test } from 'vitest'
import { isTooOld, MIN_WORKER_VERSION, tooOld } from './worker-version.ts'

test.each(['0.2.0', '0.2.0-dev', '0.2.1', '0.10.0', '1.0.0', '1.0.0+build'])(
  '%s is new enough',
  (version) => {
    expect(isTooOld(version)).toBe(false)
  },
)

test.each(['0.1.9', '0.0.1', '', 'latest', '0.2'])('%j is too old', (version) => {
  expect(isTooOld(version)).toBe(true)
  expect(tooOld(version)).toContain(MIN_WORKER_VERSION)
})
