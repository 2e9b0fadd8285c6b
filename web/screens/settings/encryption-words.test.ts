import { expect, test } from 'vitest'
import type { EncryptionKeys } from '../../api/encryption-keys.ts'
import {
  forecastOf,
  heldWords,
  keyMark,
  nodeMark,
  nodeWords,
  rotationWords,
  usedWords,
} from './encryption-words.ts'

type Node = EncryptionKeys['nodes'][number]

const key = {
  fingerprint: 'new',
  isInUse: false,
  values: { count: 0, atLeast: false },
  firstOn: 0,
  heldBy: 2,
}
const node = (name: string, keys: string[] | null, more: Partial<Node> = {}): Node => ({
  ...{ id: name, name, secrets: 'ready', keys, missing: keys && [], ...more },
})
const listed = (...nodes: ReturnType<typeof node>[]) => ({
  keys: [],
  unencrypted: { count: 0, atLeast: false },
  nodes,
})

test('a key shows how many values it encrypts and which nodes have it', () => {
  const used = { ...key, isInUse: true, values: { count: 1_204, atLeast: true }, firstOn: 2 }

  expect(usedWords(used)).toMatch(/^at least 1.204 values encrypted with it$/)
  expect(usedWords({ ...key, firstOn: 1 })).toBe('Nothing is encrypted with it yet')
  expect(usedWords(key)).toBe('No value needs it')
  expect(heldWords(used, [node('a', []), node('b', []), node('older', null)])).toBe(
    '2 of 3 nodes have it, 1 unknown; first key of 2',
  )
  expect(heldWords({ ...key, firstOn: 1 }, [node('a', []), node('b', []), node('c', [])])).toBe(
    '2 of 3 nodes have it; first key of 1',
  )
  expect(heldWords({ ...key, heldBy: 1 }, [node('a', [])])).toBe('the node has it')
  expect(heldWords({ ...key, firstOn: 2 }, [node('a', []), node('b', [])])).toBe(
    'all 2 nodes have it; first key',
  )
  expect(nodeWords(node('a', ['new', 'old']))).toBe('First key new, also old')
  expect(nodeWords(node('a', []))).toBe('It has no key')
  expect(nodeWords(node('a', null))).toBe('Keys unknown: older release')
})

test('a key is marked while a node lacks it, also before it is in use', () => {
  const [has, lacks] = [node('a', ['old', 'new']), node('b', ['old'], { missing: ['new'] })]
  const older = node('older', null)
  const used = { ...key, isInUse: true }

  expect(keyMark(key, [has, has])).toEqual(['paused', 'not in use'])
  expect(keyMark({ ...key, firstOn: 1 }, [has, has])).toEqual(['scheduled', 'ready'])
  expect(keyMark({ ...key, heldBy: 1 }, [has, lacks])).toEqual(['warning', 'not on all nodes'])
  expect(keyMark({ ...key, heldBy: 1 }, [has, older])).toEqual(['warning', 'unknown for some nodes'])
  expect(keyMark(used, [has, has])).toEqual(['completed', 'in use'])
  expect(keyMark(used, [has, lacks])).toEqual(['failing', 'missing on nodes'])
  expect(keyMark(used, [has, { ...older, secrets: 'no_key' }])).toEqual(['failing', 'missing on nodes'])
})

test('a node is marked by the keys that it lacks, and by its state if it does not report its keys', () => {
  const older = (secrets: Node['secrets']) => nodeMark(node('older', null, { secrets }))

  expect(nodeMark(node('a', ['old', 'new']))).toEqual(['completed', 'has all keys'])
  expect(nodeMark(node('a', ['old'], { missing: ['new'] }))).toEqual(['warning', 'lacks new'])
  expect(nodeMark(node('a', ['new'], { secrets: 'other_key', missing: ['old'] }))[0]).toBe('failing')
  expect(older('ready')).toEqual(['completed', 'has all keys in use'])
  expect(older('no_key')).toEqual(['failing', 'has no key'])
  expect(older('other_key')).toEqual(['failing', 'lacks keys in use'])
  expect(older(null)).toEqual(['never_ran', 'unknown'])
})

test('a rotation is harmless only if all nodes have the same first key', () => {
  const ready = forecastOf(listed(node('a', ['new', 'old']), node('b', ['new', 'old'])))
  const torn = forecastOf(listed(node('a', ['new', 'old']), node('b', ['old', 'new'])))
  const lacking = forecastOf(listed(node('a', ['new', 'old']), node('b', ['old']), node('c', null)))

  expect(ready).toMatchObject({ isHarmful: false })
  expect(ready.effects[0]).toContain('encrypted with the key new')
  expect(torn).toMatchObject({ isHarmful: true })
  expect(torn.effects[0]).toContain('different first keys: new, old')
  expect(lacking.isHarmful).toBe(true)
  expect(lacking.effects[1]).toContain('This node lacks the key: b. It could no longer read secrets.')
  expect(lacking.effects[2]).toContain('This node runs an older release, which does not report keys: c.')
})

test('where no live node reports a key, the effects of a rotation say so', () => {
  for (const nodes of [[], [node('a', [])], [node('older', null)]]) {
    const { effects, isHarmful } = forecastOf(listed(...nodes))

    expect(effects[0]).toMatch(/^No live node reports a key\./)
    expect(isHarmful).toBe(true)
  }
})

test('the result of a rotation names keys that can be removed and counts unreadable values', () => {
  expect(rotationWords({ key: 'new', encrypted: 1, unreadable: 2, retired: ['old'] })).toEqual([
    '1 value was encrypted with the key new.',
    '2 values could not be decrypted and were not changed. The node lacks their keys, or they are damaged.',
    'No longer in use: old. Remove it from all nodes.',
  ])
  expect(rotationWords({ key: 'new', encrypted: 0, unreadable: 1, retired: [] })[1]).toBe(
    '1 value could not be decrypted and was not changed. The node lacks its key, or it is damaged.',
  )
  expect(rotationWords({ key: 'new', encrypted: 0, unreadable: 0, retired: [] })[1]).toBe(
    'This rotation did not free any key for removal.',
  )
})
