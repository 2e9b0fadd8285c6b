/**
 * Labels that only Belfry gives: they say what a worker is able to do, and users can neither offer nor require them by hand.
 * `belfry:secrets` is another one (core/secret/secrets-label.ts).
 */
import type { Action, LargeAction } from '../action/action.ts'

const OWN_PREFIX = 'belfry:'

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

const NOTHING: readonly string[] = []

/** What a worker must be able to do to perform an action. */
export function labelsOfAction(action: Action | LargeAction): readonly string[] {
  if (action.type !== 'exec') return NOTHING
  return action.command === undefined ? [EXEC_LABEL] : [EXEC_LABEL, commandLabel(action.command)]
}
