/**
 * Labels that only Belfry gives: they say what a worker is able to do, and users can neither offer nor require them by hand.
 * `belfry:secrets` is another one (core/secret/secrets-label.ts).
 */
import type { Action, LargeAction } from '../action/action.ts'

export const OWN_PREFIX = 'belfry:'

export const isOwnLabel = (label: string): boolean => label.startsWith(OWN_PREFIX)
export const OWN_LABEL_RULE = `must not begin with ${OWN_PREFIX}, which is reserved`

/** Offered by workers that can run programs. */
export const EXEC_LABEL = `${OWN_PREFIX}exec`

const COMMAND_PREFIX = `${OWN_PREFIX}command:`

/** Offered by workers whose operator allows a command, and that have it. */
export const commandLabel = (path: string): string => `${COMMAND_PREFIX}${path}`

/** The command that a label stands for; null where it stands for something else. */
export const commandOf = (label: string): string | null =>
  label.startsWith(COMMAND_PREFIX) ? label.slice(COMMAND_PREFIX.length) : null

/** Offered by remote workers that perform calls. No lane asks for it: such workers are given runs that require another label of theirs. */
export const HTTP_LABEL = `${OWN_PREFIX}http`

/** Offered by nodes alone: no remote worker sends email. Lanes ask for it only where remote workers could otherwise take from them. */
const EMAIL_LABEL = `${OWN_PREFIX}email`

/** What the worker of a node offers: what it was told to, and what every node can do. */
export const labelsOfNode = (labels: readonly string[]): readonly string[] => [...labels, EMAIL_LABEL]

/** What remote workers can perform besides handlers, and the labels that stand for it. */
export const REMOTE_ACTIONS = ['exec', 'http'] as const
export type RemoteAction = (typeof REMOTE_ACTIONS)[number]

const LABELS_OF_ACTIONS: Readonly<Record<RemoteAction, string>> = { exec: EXEC_LABEL, http: HTTP_LABEL }

/** What a remote worker offers, in words of its own. */
export interface RemoteOffer {
  readonly labels: readonly string[]
  readonly actions: readonly RemoteAction[]
  readonly commands: readonly string[]
}

/** The same as labels alone. */
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

/** What a worker offers once other commands of its machine can be run; null where it runs no programs. */
export function withCommands(
  labels: readonly string[],
  commands: readonly string[],
): readonly string[] | null {
  const { actions, ...own } = offerOfLabels(labels)
  return actions.includes('exec') ? labelsOfOffer({ ...own, actions, commands }) : null
}

const NOTHING: readonly string[] = []

/** What a worker must be able to do to perform the action of a task that asks for these labels. */
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

/** A label of Belfry's own in words; null for any other. */
export function ownLabelWords(label: string): string | null {
  const command = commandOf(label)
  if (command !== null) return `the command ${command}`
  return label === EXEC_LABEL ? 'programs (exec)' : label === EMAIL_LABEL ? 'email' : null
}
