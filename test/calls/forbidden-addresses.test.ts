/** Some of all the ways to an address that must not be reached; `npm run suite addresses` goes all of them. */
import { expect, test } from 'vitest'
import { CreateTask } from '../../src/api/resources/tasks/schemas.ts'
import {
  ALWAYS,
  ALWAYS_V6,
  callsOf,
  faultsOf,
  forbiddenCalls,
  makeCalls,
  NO_FAULTS,
  noNamespace,
  notations,
  TIME_LIMIT_MS,
} from './forbidden-addresses.ts'

const SHARE = 20

test.skipIf(noNamespace !== null).each(['refuse', 'allow'] as const)(
  'with --private-addresses %s no call of a sample reaches a forbidden address',
  async (mode) => {
    const calls = forbiddenCalls(mode).filter((_, i) => i % SHARE === 7)

    const report = await makeCalls(mode, calls)

    expect(faultsOf(report)).toEqual(NO_FAULTS)
    process.stdout.write(
      `  ${calls.length} calls to ${report.never.length} forbidden addresses, 0 canary hits\n`,
    )
  },
  TIME_LIMIT_MS,
)

test('a task that names an address that is always forbidden is refused, in every notation', () => {
  const hosts = [...ALWAYS, ...ALWAYS_V6].flatMap(notations)
  const accepted = hosts.flatMap(callsOf).filter((action) => {
    const parsed = CreateTask.safeParse({ action })
    return parsed.success || !parsed.error.issues.some(({ path }) => path.join('/') === 'action/url')
  })

  expect(accepted).toEqual([])
})
