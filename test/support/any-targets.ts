import { TargetBook } from '../../src/outgoing/targets/target-book.ts'

/** What a worker needs to know of targets, for tests in which all of them have room. */
export const anyTargets = () => ({
  maxCalls: 1_000,
  targets: new TargetBook({ nodes: () => 1, onOpen: () => {} }),
  smtpTargetOf: () => null,
})
