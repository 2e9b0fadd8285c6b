import { expect, test } from 'vitest'
import { Redactor } from '../core/secret/redactor.ts'
import { RemoteEntries } from './remote-lines.ts'

const SECRET = 'correct horse battery'
const redactor = new Redactor([['KEY', SECRET]])
const at = '2026-11-18T10:00:00.000Z'
const attempt = { runId: '01900000-0000-7000-8000-000000000001', fence: 3 }
const output = (stream: 'stdout' | 'stderr', message: string) => ({ at, stream, level: null, message })
const textsOf = (entries: readonly { readonly text: string }[]) => entries.map(({ text }) => text)

test('a secret that is spread over several requests is redacted, even with other lines in between', () => {
  const remote = new RemoteEntries()
  const sent = [
    [output('stdout', 'it is corr')],
    [output('stderr', 'a warning\n')],
    [output('stdout', 'ect horse bat'), output('stderr', 'another\n')],
    [output('stdout', 'tery, done\n')],
  ]

  let first = 0
  const told = sent.flatMap((lines) => {
    const entries = remote.of({ ...attempt, first, lines }, redactor)
    first += lines.length
    return textsOf(entries)
  })

  expect(told).toEqual(['it is corr', 'a warning\n', '[secret KEY]', 'another\n', '[secret KEY], done\n'])
})

test('a repeated request gives the same entries, and its text is not joined to itself', () => {
  const remote = new RemoteEntries()
  const request = { ...attempt, first: 0, lines: [output('stdout', 'correct horse ')] }

  const twice = [remote.of(request, redactor), remote.of(request, redactor)].map(textsOf)
  const rest = remote.of({ ...attempt, first: 1, lines: [output('stdout', 'battery\n')] }, redactor)

  expect(twice).toEqual([['[secret KEY]'], ['[secret KEY]']])
  expect(textsOf(rest)).toEqual(['[secret KEY]\n'])
})

test('the lines of another attempt are redacted separately', () => {
  const remote = new RemoteEntries()
  remote.of({ ...attempt, first: 0, lines: [output('stdout', 'corr')] }, redactor)

  const other = remote.of({ ...attempt, fence: 4, first: 0, lines: [output('stdout', 'ect')] }, redactor)

  expect(textsOf(other)).toEqual(['ect'])
})
