/** Runs of actions as an API node assigns them; docs/reference/worker-protocol.md explains the fields. */
import type { Action } from '../core/action/action.ts'
import type { GivenRun } from '../sdk/worker.ts'
import type { GivenCall, GivenProgram } from '../transport/remote-workers.ts'

/** A run with the data that its action needs. */
export interface GivenActionRun extends GivenRun {
  readonly action: Action
  readonly program: GivenProgram | null
  readonly call: GivenCall | null
}

export const isOfAction = (run: GivenRun): run is GivenActionRun =>
  typeof run.action === 'object' && run.action !== null
