/**
 * Secrets of runs that remote workers perform. The api node that gives a run to a worker inserts the values into its payload,
 * for that one attempt, and the node that accepts its report redacts them again.
 */
import type { Action } from '../core/action/action.ts'
import { Refusal } from '../core/errors.ts'
import type { Outcome } from '../core/run/outcome.ts'
import { EXEC_LABEL } from '../core/run/own-labels.ts'
import { filledAction, UnusableSecret } from '../core/secret/filled-action.ts'
import type { Redactor } from '../core/secret/redactor.ts'
import { offeredLabels } from '../core/secret/secrets-label.ts'
import { secretFailure, unusable } from '../secrets/secret-outcomes.ts'
import type { Vault } from '../secrets/vault.ts'
import type { RemoteReport, RemoteWorker } from '../transport/remote-workers.ts'
import type { Work } from '../transport/transport.ts'

/** An action with the values of its secrets, or the failure of the attempt without them. */
export type Filled =
  | { readonly action: Action; readonly failure?: undefined }
  | { readonly failure: Outcome & { readonly kind: 'failed' } }

export class RemoteSecrets {
  readonly #vault: Vault

  constructor(vault: Vault) {
    this.#vault = vault
  }

  /**
   * Returns the labels that a worker offers through this node. A node without keys can sign neither URLs nor tokens, which
   * programs need.
   */
  labelsOf({ labels }: Pick<RemoteWorker, 'labels'>): readonly string[] {
    const { isReady } = this.#vault
    return offeredLabels(isReady ? labels : labels.filter((label) => label !== EXEC_LABEL), isReady)
  }

  /** Returns the action of a run as its worker is given it. */
  async fill({ definition: { projectId, secrets } }: Work, action: Action): Promise<Filled> {
    if (secrets === null) return { action }
    const read = await this.#vault.read(projectId, secrets)
    if (!read.ok) return { failure: secretFailure(read) }
    try {
      return { action: filledAction(action, (name) => read.values.get(name) ?? '') }
    } catch (error) {
      if (error instanceof UnusableSecret) return { failure: unusable(error) }
      throw error
    }
  }

  /** Whether anything is encrypted in this installation; if not, no run refers to an existing secret. */
  areInUse(): Promise<boolean> {
    return this.#vault.isInUse()
  }

  /** Returns the redactors for what workers report about runs, by run; runs that refer to no secret have none. */
  async redactorsFor(works: readonly Work[]): Promise<ReadonlyMap<string, Redactor>> {
    const redactors = new Map<string, Redactor>()
    // Runs of a task refer to the same secrets, whose values are read once for all of them.
    const known = new Map<string, Redactor>()
    for (const { runId, definition } of works) {
      const { projectId, secrets } = definition
      if (secrets === null) continue
      const key = JSON.stringify([projectId, ...secrets])
      const redactor = known.get(key) ?? (await this.#redactorFor(projectId, secrets))
      known.set(key, redactor)
      redactors.set(runId, redactor)
    }
    return redactors
  }

  async #redactorFor(projectId: string, secrets: readonly string[]): Promise<Redactor> {
    if (!this.#vault.isReady && (await this.areInUse())) throw unredactable()
    return this.#vault.redactorOf(await this.#vault.readEvery(projectId, secrets))
  }
}

const unredactable = () =>
  new Refusal(
    'secrets_unavailable',
    'This node does not have the secrets key, so it cannot remove secrets from the report. Send the report to another node, or retry later.',
  )

/** Redacts a report. Its log is redacted separately. */
export function redactedReport(report: RemoteReport, redactor: Redactor | undefined): RemoteReport {
  if (redactor === undefined) return report
  const { result, error } = report
  return {
    ...report,
    result: redactor.value(result),
    error: redactor.value(error) as RemoteReport['error'],
  }
}
