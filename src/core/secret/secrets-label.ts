/**
 * The label of lanes whose runs refer to secrets. A node offers it while it has the keys of all secrets, so that no other node
 * claims such a run; for remote workers, the api node that gives them the run must have the keys.
 */
export const SECRETS_LABEL = 'belfry:secrets'

/**
 * The labels that a node offers: the configured ones, and this one while it can read secrets. Configuring the label does not
 * add it.
 */
export function offeredLabels(labels: readonly string[], canReadSecrets: boolean): readonly string[] {
  const own = labels.includes(SECRETS_LABEL) ? withoutSecretsLabel(labels) : labels
  return canReadSecrets ? [...own, SECRETS_LABEL] : own
}

/** The labels of a lane except this one. */
export const withoutSecretsLabel = (labels: readonly string[]): readonly string[] =>
  labels.filter((label) => label !== SECRETS_LABEL)
