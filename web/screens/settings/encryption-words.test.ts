import { expect, test } from 'vitest'
import { forecastOf, heldWords, nodeWords, rotationWords, usedWords } from './encryption-words.ts'

const key = {
  fingerprint: 'new',
  isInUse: false,
  values: { count: 0, atLeast: false },
  firstOn: 0,
  heldBy: 2,
}
const node = (name: string, keys: string[] | null) => ({ id: name, name, keys, missing: [] })
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
    'all 2 nodes have it; first key',
  )
  expect(heldWords({ ...key, firstOn: 1 }, [node('a', []), node('b', []), node('c', [])])).toBe(
    '2 of 3 nodes have it; first key of 1',
  )
  expect(heldWords({ ...key, heldBy: 1 }, [node('a', [])])).toBe('the node has it')
  expect(nodeWords(node('a', ['new', 'old']))).toBe('First key new, also old')
  expect(nodeWords(node('a', []))).toBe('It has no key')
  expect(nodeWords(node('a', null))).toContain('does not tell')
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
  expect(lacking.effects[1]).toContain('Not all nodes have the key: b.')
  expect(lacking.effects[2]).toContain('it is not known which keys they have: c.')
})

test('the result of a rotation names keys that can be removed and counts unreadable values', () => {
  expect(rotationWords({ key: 'new', encrypted: 1, unreadable: 2, retired: ['old'] })).toEqual([
    '1 value was encrypted with the key new.',
    expect.stringContaining('2 values could not be read'),
    'No longer in use: old. Remove it from all nodes.',
  ])
  expect(rotationWords({ key: 'new', encrypted: 0, unreadable: 0, retired: [] })[1]).toBe(
    'No key became unused.',
  )
})
