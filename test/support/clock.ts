import type { HoldingClock } from '../../src/runtime/clock.ts'

/** A clock that is never set and never uncertain: this machine's, or one that the test provides. */
export const steadyClock = (now: () => number = () => Date.now()): HoldingClock => ({
  now,
  atLeast: now,
  expect: () => {},
  onStep: () => {},
  assurance: () => ({ now: 0, until: Number.MAX_SAFE_INTEGER }),
})
