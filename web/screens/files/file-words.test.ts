import { expect, test } from 'vitest'
import { kindWords, sizeWords, stateWords } from './file-words.ts'

test.each([
  [0, '0 B'],
  [1, '1 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [262_144, '256 KiB'],
  [1_572_864, '1.5 MiB'],
  [5 * 1024 ** 4, '5120 GiB'],
])('%i bytes are %s', (bytes, words) => {
  expect(sizeWords(bytes)).toBe(words)
})

test.each([
  [{ kind: 'elf', architecture: 'x64', interpreter: null }, 'Linux program, x64'],
  [{ kind: 'script', architecture: null, interpreter: '/bin/sh' }, 'Script, /bin/sh'],
  [{ kind: 'data', architecture: null, interpreter: null }, 'Data'],
  [{ kind: null, architecture: null, interpreter: null }, '–'],
] as const)('%j is called %s', (file, words) => {
  expect(kindWords(file)).toBe(words)
})

test.each([
  [{ state: 'ready', receivedBytes: 10, size: 10 }, 'Ready'],
  [{ state: 'waiting', receivedBytes: 0, size: 10 }, 'Not uploaded'],
  [{ state: 'waiting', receivedBytes: 262_144, size: 524_288 }, '256 KiB of 512 KiB received'],
  [{ state: 'waiting', receivedBytes: 262_144, size: null }, '256 KiB received'],
] as const)('%j is %s', (file, words) => {
  expect(stateWords(file)).toBe(words)
})
