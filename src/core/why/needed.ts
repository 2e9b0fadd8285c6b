/** Describes what a worker must offer to perform a run. */
import { commandOf, EXEC_LABEL, isOwnLabel, ownLabelWords } from '../run/own-labels.ts'

/** The requirements of a run. */
interface Needs {
  readonly handler: string | null
  readonly labels: readonly string[]
}

/** Such as `the handler resize, gpu`. */
export function neededWords({ handler, labels }: Needs): string {
  const hasCommand = labels.some((label) => commandOf(label) !== null)
  const words = labels
    .filter((label) => label !== EXEC_LABEL || !hasCommand)
    .map((label) => ownLabelWords(label) ?? label)
  return [...(handler === null ? [] : [`the handler ${handler}`]), ...words].join(', ')
}

/** Flags that start a worker with the required labels and commands. */
export function neededFlags({ labels }: Needs): string {
  const commands = labels.flatMap((label) => commandOf(label) ?? [])
  const others = labels.filter((label) => !isOwnLabel(label))
  return [
    'belfry start --roles worker',
    ...(labels.includes(EXEC_LABEL) ? ['--exec on'] : []),
    ...(commands.length === 0 ? [] : [`--exec-commands ${commands.join(',')}`]),
    ...(others.length === 0 ? [] : [`--labels ${others.join(',')}`]),
  ].join(' ')
}
