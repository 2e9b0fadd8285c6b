/** How keys stand, and what a rotation would do, in words. */
import { formatCount } from '../../../src/core/words/time.ts'
import type { EncryptionKeys, KeyRotation } from '../../api/encryption-keys.ts'

type Key = EncryptionKeys['keys'][number]
type Node = EncryptionKeys['nodes'][number]

const counted = (count: number, one: string, many = `${one}s`) =>
  `${formatCount(count)} ${count === 1 ? one : many}`

/** How much is encrypted with a key. */
export function usedWords({ isInUse, values, firstOn }: Key): string {
  if (isInUse)
    return `${values.atLeast ? 'at least ' : ''}${counted(values.count, 'value')} encrypted with it`
  return firstOn > 0 ? 'Nothing is encrypted with it yet' : 'No value needs it'
}

/** Which nodes have a key, and which of them encrypt with it; of those that tell their keys. */
export function heldWords({ firstOn, heldBy }: Key, all: readonly Node[]): string {
  const nodes = all.filter(({ keys }) => keys !== null).length
  const held =
    heldBy === nodes
      ? nodes === 1
        ? 'the node has it'
        : `all ${nodes} nodes have it`
      : `${heldBy} of ${counted(nodes, 'node')} have it`
  return firstOn === 0 ? held : firstOn === nodes ? `${held}; first key` : `${held}; first key of ${firstOn}`
}

/** The keys of a node, in its order. */
export function nodeWords({ keys }: Node): string {
  if (keys === null) return 'Its release does not tell which keys it has'
  const [first, ...others] = keys
  if (first === undefined) return 'It has no key'
  return others.length === 0 ? `Key ${first}` : `First key ${first}, also ${others.join(', ')}`
}

/** What waits for a key; null if nothing does. */
export const unencryptedWords = ({ unencrypted: { count } }: EncryptionKeys): string | null =>
  count === 0
    ? null
    : `${counted(count, 'signing secret is', 'signing secrets are')} stored unencrypted, until all nodes have the key.`

/** What a rotation would come to, and whether something is in its way. */
export interface RotationForecast {
  readonly effects: readonly string[]
  readonly isHarmful: boolean
}

export function forecastOf({ nodes }: EncryptionKeys): RotationForecast {
  const firsts = [...new Set(nodes.flatMap(({ keys }) => keys?.[0] ?? []))]
  const [first = ''] = firsts
  const lacking = nodes.filter(({ keys }) => keys !== null && firsts.some((key) => !keys.includes(key)))
  const namesOf = (some: readonly Node[]) => some.map(({ name }) => name).join(', ')
  const unknown = nodes.filter(({ keys }) => keys === null)
  return {
    effects: [
      firsts.length === 1
        ? `All secrets of all projects, signing secrets included, are encrypted with the key ${first}.`
        : `Nodes have different first keys: ${firsts.join(', ')}. All secrets are encrypted with that of the node that answers. Make one key the first on all nodes before.`,
      ...(lacking.length === 0
        ? []
        : [
            `Not all nodes have the key: ${namesOf(lacking)}. ${lacking.length === 1 ? 'It' : 'They'} would not be able to read secrets. Add the key to all nodes before.`,
          ]),
      ...(unknown.length === 0
        ? []
        : [`Of nodes of an older release, it is not known which keys they have: ${namesOf(unknown)}.`]),
      ...(firsts.length === 1 && lacking.length + unknown.length === 0 ? ['All nodes have the key.'] : []),
      'Runs continue meanwhile.',
      'Keys that are no longer in use can then be removed from the nodes.',
    ],
    isHarmful: firsts.length !== 1 || lacking.length + unknown.length > 0,
  }
}

/** What a rotation came to, a line each. */
export const rotationWords = ({ key, encrypted, unreadable, retired }: KeyRotation): readonly string[] => [
  `${counted(encrypted, 'value was', 'values were')} encrypted with the key ${key}.`,
  ...(unreadable === 0
    ? []
    : [
        `${counted(unreadable, 'value', 'values')} could not be read and stayed as before: the node that answered does not have the key, or they are damaged.`,
      ]),
  retired.length === 0
    ? 'No key became unused.'
    : `No longer in use: ${retired.join(', ')}. Remove ${retired.length === 1 ? 'it' : 'them'} from all nodes.`,
]
