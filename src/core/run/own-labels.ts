/**
 * Labels that only Belfry sets. They state what a worker is able to do, and users can neither offer nor require them directly.
 * `belfry:secrets` is another one (core/secret/secrets-label.ts).
 */
import type { Action, LargeAction } from '../action/action.ts'

/** Maximum number of commands that a worker offers: each is a separate label. */
export const MAX_COMMANDS = 1_000

export const OWN_PREFIX = 'belfry:'

export const isOwnLabel = (label: string): boolean => label.startsWith(OWN_PREFIX)
export const OWN_LABEL_RULE = `must not begin with ${OWN_PREFIX}, which is reserved`

/** Offered by workers that can run programs. */
export const EXEC_LABEL = `${OWN_PREFIX}exec`

const COMMAND_PREFIX = `${OWN_PREFIX}command:`

/** Offered by workers that have the command and whose operator allows it. */
export const commandLabel = (path: string): string => `${COMMAND_PREFIX}${path}`

/** The command of a label; null if the label does not stand for a command. */
export const commandOf = (label: string): string | null =>
  label.startsWith(COMMAND_PREFIX) ? label.slice(COMMAND_PREFIX.length) : null

/**
 * Offered by remote workers that perform calls. No lane requires it: such workers get only runs that require another of their
 * labels.
 */
export const HTTP_LABEL = `${OWN_PREFIX}http`

/**
 * Offered by nodes only, because remote workers do not send email. A lane requires it only if a remote worker could otherwise
 * claim its runs.
 */
const EMAIL_LABEL = `${OWN_PREFIX}email`

/** The labels that the worker of a node offers: the configured ones, and those for what every node can do. */
export const labelsOfNode = (labels: readonly string[]): readonly string[] => [...labels, EMAIL_LABEL]

/** The actions that remote workers can perform besides handlers. */
export const REMOTE_ACTIONS = ['exec', 'http'] as const
export type RemoteAction = (typeof REMOTE_ACTIONS)[number]

const LABELS_OF_ACTIONS: Readonly<Record<RemoteAction, string>> = { exec: EXEC_LABEL, http: HTTP_LABEL }

/** What a remote worker offers, with actions and commands apart from labels. */
export interface RemoteOffer {
  readonly labels: readonly string[]
  readonly actions: readonly RemoteAction[]
  readonly commands: readonly string[]
}

/** The same offer as labels only. */
export const labelsOfOffer = ({ labels, actions, commands }: RemoteOffer): readonly string[] => [
  ...new Set([
    ...labels,
    ...actions.map((action) => LABELS_OF_ACTIONS[action]),
    ...commands.map(commandLabel),
  ]),
]

export const offerOfLabels = (labels: readonly string[]): RemoteOffer => ({
  labels: labels.filter((label) => !isOwnLabel(label)),
  actions: REMOTE_ACTIONS.filter((action) => labels.includes(LABELS_OF_ACTIONS[action])),
  commands: labels.flatMap((label) => commandOf(label) ?? []),
})

/** The offer of a worker after the commands of its machine have changed; null if it runs no programs. */
export function withCommands(
  labels: readonly string[],
  commands: readonly string[],
): readonly string[] | null {
  const { actions, ...own } = offerOfLabels(labels)
  return actions.includes('exec') ? labelsOfOffer({ ...own, actions, commands }) : null
}

const NOTHING: readonly string[] = []

/** The labels that a worker needs for the action of a task, given the labels that the task requires. */
export function labelsOfAction(action: Action | LargeAction, asked: readonly string[]): readonly string[] {
  switch (action.type) {
    case 'exec':
      return action.command === undefined ? [EXEC_LABEL] : [EXEC_LABEL, commandLabel(action.command)]
    case 'email':
      return asked.length === 0 ? NOTHING : [EMAIL_LABEL]
    default:
      return NOTHING
  }
}

/** Describes a label of Belfry's own; null for any other label. */
export function ownLabelWords(label: string): string | null {
  const command = commandOf(label)
  if (command !== null) return `the command ${command}`
  return label === EXEC_LABEL ? 'programs (exec)' : label === EMAIL_LABEL ? 'email' : null
}
