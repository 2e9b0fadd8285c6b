/**
 * Inserts the values of the secrets that an action refers to when its attempt begins, and redacts them from everything that the
 * attempt leaves behind. An action without references is passed through unchanged.
 */
import type { Action } from '../../core/action/action.ts'
import type { Outcome } from '../../core/run/outcome.ts'
import { filledAction, UnusableSecret } from '../../core/secret/filled-action.ts'
import { redacted, secretFailure, UNREAD, unusable } from '../../secrets/secret-outcomes.ts'
import type { Vault } from '../../secrets/vault.ts'
import type { AttemptContext, Executor } from '../executor.ts'
import type { Executors } from './executors.ts'

export const withSecrets = (executors: Executors, vault: Pick<Vault, 'read' | 'redactorOf'>): Executors => ({
  execute: (action, context) =>
    context.secrets === null
      ? executors.execute(action, context)
      : executeFilled(action, context, { executors, vault, names: context.secrets }),
  close: () => executors.close(),
})

interface Filling {
  readonly executors: Executor
  readonly vault: Pick<Vault, 'read' | 'redactorOf'>
  readonly names: readonly string[]
}

async function executeFilled(
  action: Action,
  context: AttemptContext,
  { executors, vault, names }: Filling,
): Promise<Outcome> {
  const read = await vault.read(context.projectId, names).catch(() => UNREAD)
  if (!read.ok) return secretFailure(read)
  const redactor = vault.redactorOf(read.values)
  try {
    context.log.redactWith(redactor)
    const filled = filledAction(action, (name) => read.values.get(name) ?? '')
    return redacted(await executors.execute(filled, context), redactor)
  } catch (error) {
    if (error instanceof UnusableSecret) return unusable(error)
    const message = error instanceof Error ? error.message : String(error)
    return {
      kind: 'failed',
      retryable: true,
      error: { code: 'executor_failed', message: redactor.text(message) },
    }
  }
}
