import { expect, test } from 'vitest'
import { reasonHeader } from './reason.ts'

test('a reason is sent as the bytes of its UTF-8 form', () => {
  const { 'belfry-reason': value = '' } = reasonHeader('abgelöst – 交換 🔑')

  expect(Buffer.from(value, 'latin1').toString('utf8')).toBe('abgelöst – 交換 🔑')
})

test('without a reason there is no header', () => {
  expect([reasonHeader(), reasonHeader(''), reasonHeader(' \n ')]).toEqual([{}, {}, {}])
})

test('control characters, which a header cannot contain, become spaces', () => {
  expect(reasonHeader('one\r\ntwo\tthree\0')).toEqual({ 'belfry-reason': 'one two three' })
})
