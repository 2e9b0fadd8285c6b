/** Every way to an address that must not be reached: `npm run suite addresses`. */
import { expect, test } from 'vitest'
import {
  faultsOf,
  forbiddenCalls,
  makeCalls,
  NO_FAULTS,
  noNamespace,
  TIME_LIMIT_MS,
} from './forbidden-addresses.ts'

test.skipIf(noNamespace !== null).each(['refuse', 'allow'] as const)(
  'with --private-addresses %s no call reaches any forbidden address',
  async (mode) => {
    const calls = forbiddenCalls(mode)

    const report = await makeCalls(mode, calls)

    expect(faultsOf(report)).toEqual(NO_FAULTS)
    process.stdout.write(
      `  ${calls.length} calls to ${report.never.length} forbidden addresses, 0 canary hits\n`,
    )
  },
  TIME_LIMIT_MS,
)
