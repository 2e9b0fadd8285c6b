/** The state of keys, and the effects of a rotation, in words. */
import type { EncryptionKeys, KeyRotation } from '../../api/encryption-keys.ts'
import { counted } from '../../components/count-words.ts'
import type { AnyState } from '../../components/state.ts'

type Mark = readonly [state: AnyState, text: string]
type Key = EncryptionKeys['keys'][number]
type Node = EncryptionKeys['nodes'][number]

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

/** Whether a key is in use, and whether nodes lack it. */
export function keyMark({ fingerprint, isInUse, firstOn, heldBy }: Key, nodes: readonly Node[]): Mark {
  const isMissing = nodes.some(
    ({ secrets, missing }) => missing?.includes(fingerprint) ?? secrets === 'no_key',
  )
  if (isInUse) return isMissing ? ['failing', 'missing on nodes'] : ['completed', 'in use']
  if (heldBy < nodes.length) return ['warning', isMissing ? 'not on all nodes' : 'unknown for some nodes']
  return firstOn > 0 ? ['scheduled', 'ready'] : ['paused', 'not in use']
}

/** What a node lacks. It can still read secrets while no value needs the missing keys. */
export function nodeMark({ secrets, missing }: Node): Mark {
  if (secrets === null) return ['never_ran', 'unknown']
  const isReady = secrets === 'ready'
  if (missing === null) return isReady ? ['completed', 'has all keys in use'] : ['failing', UNREADY[secrets]]
  if (missing.length === 0) return ['completed', 'has all keys']
  return [isReady ? 'warning' : 'failing', `lacks ${missing.join(', ')}`]
}

const UNREADY = { no_key: 'has no key', other_key: 'lacks keys in use' } as const

/** The keys of a node, in its order. */
export function nodeWords({ keys }: Node): string {
  if (keys === null) return 'Keys unknown: older release'
  const [first, ...others] = keys
  if (first === undefined) return 'It has no key'
  return others.length === 0 ? `Key ${first}` : `First key ${first}, also ${others.join(', ')}`
}

/** What waits for a key; null if nothing does. */
export const unencryptedWords = ({ unencrypted: { count } }: EncryptionKeys): string | null =>
  count === 0
    ? null
    : `${counted(count, 'signing secret is', 'signing secrets are')} stored unencrypted, until all nodes have the key.`

/** The effects of a rotation, and whether it could do harm. */
export interface RotationForecast {
  readonly effects: readonly string[]
  readonly isHarmful: boolean
}

export function forecastOf({ nodes }: EncryptionKeys): RotationForecast {
  const firsts = [...new Set(nodes.flatMap(({ keys }) => keys?.[0] ?? []))]
  const lacking = nodes.filter(({ keys }) => keys !== null && firsts.some((key) => !keys.includes(key)))
  const namesOf = (some: readonly Node[]) => some.map(({ name }) => name).join(', ')
  const unknown = nodes.filter(({ keys }) => keys === null)
  return {
    effects: [
      firstKeyWords(firsts),
      ...(lacking.length === 0
        ? []
        : [
            `${lacking.length === 1 ? 'This node lacks' : 'These nodes lack'} the key: ${namesOf(lacking)}. ${lacking.length === 1 ? 'It' : 'They'} could no longer read secrets. Add the key there first.`,
          ]),
      ...(unknown.length === 0
        ? []
        : [
            `${unknown.length === 1 ? 'This node runs' : 'These nodes run'} an older release, which does not report keys: ${namesOf(unknown)}.`,
          ]),
      ...(firsts.length === 1 && lacking.length + unknown.length === 0 ? ['All nodes have the key.'] : []),
      'Runs continue during the rotation.',
      'Keys that are no longer in use can then be removed from the nodes.',
    ],
    isHarmful: firsts.length !== 1 || lacking.length + unknown.length > 0,
  }
}

function firstKeyWords([first, ...others]: readonly string[]): string {
  if (first === undefined)
    return 'No live node reports a key. The rotation uses the first key of the node that handles the request, and fails if it has none.'
  return others.length === 0
    ? `All secrets of all projects, signing secrets included, are encrypted with the key ${first}.`
    : `Nodes have different first keys: ${[first, ...others].join(', ')}. The rotation uses the first key of the node that handles the request. First make the same key the first on all nodes.`
}

/** The results of a rotation, one per line. */
export const rotationWords = ({ key, encrypted, unreadable, retired }: KeyRotation): readonly string[] => [
  `${counted(encrypted, 'value was', 'values were')} encrypted with the key ${key}.`,
  ...(unreadable === 0
    ? []
    : [
        unreadable === 1
          ? '1 value could not be decrypted and was not changed. The node lacks its key, or it is damaged.'
          : `${counted(unreadable, 'value')} could not be decrypted and were not changed. The node lacks their keys, or they are damaged.`,
      ]),
  retired.length === 0
    ? 'This rotation did not free any key for removal.'
    : `No longer in use: ${retired.join(', ')}. Remove ${retired.length === 1 ? 'it' : 'them'} from all nodes.`,
]
