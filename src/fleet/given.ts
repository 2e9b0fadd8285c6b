/** Runs of actions as an api node gives them out; docs/reference/worker-protocol.md explains the members. */
import type { Action } from '../core/action/action.ts'
import type { GivenRun } from '../sdk/worker.ts'
import type { GivenCall, GivenProgram } from '../transport/remote-workers.ts'

/** A run with what performing its action needs. */
export interface GivenActionRun extends GivenRun {
  readonly action: Action
  readonly program: GivenProgram | null
  readonly call: GivenCall | null
}

export const isOfAction = (run: GivenRun): run is GivenActionRun =>
  typeof run.action === 'object' && run.action !== null
