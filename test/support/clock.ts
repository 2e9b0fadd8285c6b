import type { HoldingClock } from '../../src/runtime/clock.ts'

/** A clock that is never set and never in doubt: that of this machine, or what a test says. */
export const steadyClock = (now: () => number = () => Date.now()): HoldingClock => ({
  now,
  atLeast: now,
  expect: () => {},
  onStep: () => {},
  assurance: () => ({ now: 0, until: Number.MAX_SAFE_INTEGER }),
})
