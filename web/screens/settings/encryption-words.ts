/** How keys stand, and what a rotation would do, in words. */
import { formatCount } from '../../../src/core/words/time.ts'
import type { EncryptionKeys, KeyRotation } from '../../api/encryption-keys.ts'
import type { AnyState } from '../../components/state.ts'

type Mark = readonly [state: AnyState, text: string]
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

/** Which nodes have a key, and which of them encrypt with it. */
export function heldWords({ firstOn, heldBy }: Key, nodes: readonly Node[]): string {
  const { length: count } = nodes
  const unknown = nodes.filter(({ keys }) => keys === null).length
  const held =
    heldBy === count
      ? count === 1
        ? 'the node has it'
        : `all ${count} nodes have it`
      : `${heldBy} of ${counted(count, 'node')} have it${unknown === 0 ? '' : `, ${unknown} unknown`}`
  return firstOn === 0 ? held : firstOn === count ? `${held}; first key` : `${held}; first key of ${firstOn}`
}

/** What a key is for at present, and whether nodes lack it. */
export function keyMark({ fingerprint, isInUse, firstOn, heldBy }: Key, nodes: readonly Node[]): Mark {
  const isMissing = nodes.some(
    ({ secrets, missing }) => missing?.includes(fingerprint) ?? secrets === 'no_key',
  )
  if (isInUse) return isMissing ? ['failing', 'missing on nodes'] : ['completed', 'in use']
  if (heldBy < nodes.length) return ['missed', isMissing ? 'not on all nodes' : 'unknown on nodes']
  return firstOn > 0 ? ['scheduled', 'ready'] : ['paused', 'not in use']
}

/** What a node lacks. It can read secrets all the same as long as no value needs the missing keys. */
export function nodeMark({ secrets, missing }: Node): Mark {
  if (secrets === null) return ['never_ran', 'unknown']
  const isReady = secrets === 'ready'
  if (missing === null) return isReady ? ['completed', 'has all keys in use'] : ['failing', UNREADY[secrets]]
  if (missing.length === 0) return ['completed', 'has all keys']
  return [isReady ? 'missed' : 'failing', `lacks ${missing.join(', ')}`]
}

const UNREADY = { no_key: 'has no key', other_key: 'lacks keys in use' } as const

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
