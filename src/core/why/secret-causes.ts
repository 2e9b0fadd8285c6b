/** Why a task that refers to secrets does not run. Pure. */
import type { Why, WhyFacts } from './why.ts'

/** The current state of the secrets that a task refers to. */
export interface AwaitedSecrets {
  /** Names without a secret in the project. */
  readonly missing: readonly string[]
  /** Whether a live node that could perform the task, or give it to a worker, holds the keys. */
  readonly isReadable: boolean
}

/** The cause if no live node has the keys. `who` begins the sentence: the waiting run, or the next one if none is due yet. */
export function keyCauses(secrets: AwaitedSecrets | null, who: string, facts: WhyFacts): Why[] {
  if (secrets === null || secrets.isReadable) return []
  return [
    {
      code: 'no_secrets_key',
      sentence: `${who}: the task uses secrets, and no live node that could run it has their key.`,
      facts,
      advice:
        'Start the nodes with the key that the secrets were encrypted with: BELFRY_SECRETS_KEY or --secrets-key-file. To see which nodes lack it: belfry node list --json',
    },
  ]
}

/** The cause if a secret does not exist. A run that uses it does not wait; it fails. */
export function missingCauses(secrets: AwaitedSecrets | null): Why[] {
  if (secrets === null || secrets.missing.length === 0) return []
  const [first] = secrets.missing
  const which =
    secrets.missing.length === 1
      ? `the secret ${first}, which does not`
      : `the secrets ${secrets.missing.join(', ')}, which do not`
  return [
    {
      code: 'secret_missing',
      sentence: `The task uses ${which} exist; its runs fail.`,
      facts: { secrets: secrets.missing },
      advice: `To set it: belfry secret set ${first}`,
    },
  ]
}
