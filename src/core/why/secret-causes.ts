/** What keeps a task from running that refers to secrets. Pure. */
import type { Why, WhyFacts } from './why.ts'

/** The secrets that a task refers to, as they stand. */
export interface AwaitedSecrets {
  /** Names that no secret of the project has. */
  readonly missing: readonly string[]
  /** Whether a live node that could perform the task, or give it to a worker, holds the keys. */
  readonly isReadable: boolean
}

/** `who` begins the sentence about a run that waits; null where none is due yet. */
export function keyCauses(secrets: AwaitedSecrets | null, who: string, facts: WhyFacts): Why[] {
  if (secrets === null || secrets.isReadable) return []
  return [
    {
      code: 'no_secrets_key',
      sentence: `${who}: the task uses secrets, and no live node that could run it holds their key.`,
      facts,
      advice:
        'Start the nodes with the key that the secrets were encrypted with: BELFRY_SECRETS_KEY or --secrets-key-file. To see which nodes lack it: belfry node list --json',
    },
  ]
}

/** Such a run does not wait: it fails. */
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
