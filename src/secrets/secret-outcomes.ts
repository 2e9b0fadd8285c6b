/** Outcomes of attempts that refer to secrets: without the values of the secrets, and with a reason if these could not be read. */
import type { Outcome } from '../core/run/outcome.ts'
import type { UnusableSecret } from '../core/secret/filled-action.ts'
import type { Redactor } from '../core/secret/redactor.ts'
import type { ReadValues } from './vault.ts'

/** Why there are no values. */
export type Unread =
  | Extract<ReadValues, { ok: false }>
  | { readonly ok: false; readonly reason: 'no_database' }

/** The database does not answer: the run is handed back, and claimed again when it does. */
export const UNREAD = { ok: false, reason: 'no_database' } as const

/** Returns the outcome of an attempt whose secrets cannot be read. It is retried only if another node may be able to read them. */
export function secretFailure(read: Unread): Outcome & { readonly kind: 'failed' } {
  switch (read.reason) {
    case 'no_database':
      return unavailable('the secrets of the task could not be read from the database')
    case 'no_key':
      return unavailable('this node does not hold the secrets key')
    case 'missing':
      return failure(
        'secret_missing',
        `The secret ${read.name} does not exist. Set it with: belfry secret set ${read.name}. Then run the task again.`,
      )
    case 'damaged':
      return failure(
        'secret_unreadable',
        `The stored value of the secret ${read.name} is damaged. Set it again with: belfry secret set ${read.name}`,
      )
  }
}

/** Returns the outcome for a value that cannot be used where the action refers to it. */
export const unusable = ({ message }: UnusableSecret) => failure('secret_unusable', message)

const unavailable = (message: string) => ({ ...failure('secrets_unavailable', message), retryable: true })

const failure = (code: string, message: string) =>
  ({ kind: 'failed', retryable: false, error: { code, message } }) as const

/** Returns the outcome with the secret values redacted. */
export function redacted(outcome: Outcome, redactor: Redactor): Outcome {
  const error = 'error' in outcome ? { error: redactor.value(outcome.error) } : {}
  const output = 'output' in outcome ? { output: redactor.value(outcome.output) } : {}
  return { ...outcome, ...error, ...output } as Outcome
}
