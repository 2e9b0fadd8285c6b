/**
 * The label of the lanes of runs that refer to secrets. Nodes offer it while they hold the keys of all secrets, so that no other
 * node takes such a run; for remote workers, the api node that gives them the run must hold the keys.
 */
export const SECRETS_LABEL = 'belfry:secrets'

/** What a node offers: what it was told to, and secrets while it can read them. Nobody can claim that by setting the label. */
export function offeredLabels(labels: readonly string[], canReadSecrets: boolean): readonly string[] {
  const own = labels.includes(SECRETS_LABEL) ? withoutSecretsLabel(labels) : labels
  return canReadSecrets ? [...own, SECRETS_LABEL] : own
}

/** What a lane asks for besides. */
export const withoutSecretsLabel = (labels: readonly string[]): readonly string[] =>
  labels.filter((label) => label !== SECRETS_LABEL)
