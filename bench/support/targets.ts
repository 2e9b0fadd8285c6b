/** Targets of calls, healthy and broken, in a process that behaves as it is asked to. */
import type { SeenTarget, TargetKind } from '../../test/support/target-servers.ts'
import { startChild } from './child.ts'

export interface Targets {
  open(kind: TargetKind, options?: { count?: number; ms?: number }): Promise<readonly string[]>
  read(url: string): Promise<SeenTarget>
  /** Over all targets. */
  underWay(): Promise<{ readonly underWay: number; readonly mostUnderWay: number }>
  stop(): Promise<void>
}

export function startTargets(): Targets {
  const child = startChild('../test/support/target-servers-process.mjs')
  return {
    open: (kind, options = {}) => child.call('open', { kind, ...options }),
    read: (url) => child.call('read', { url }),
    underWay: () => child.call('underWay'),
    stop: child.stop,
  }
}
