import { expect, test } from 'vitest'
import { networkEdit, networkFields, problemsByText } from './network-fields.ts'

test.each([[null], [[]], [['10.1.0.0/16', 'fd00::/8']]])(
  'an unedited form of the setting %j changes nothing',
  (allowed) => {
    expect(networkEdit(allowed, networkFields(allowed))).toBeNull()
  },
)

test('all, none and a list are different settings, and an empty list is not sent', () => {
  const networks = [' 10.1.0.0/16', '', '10.2.0.7 ']

  expect(networkEdit([], { reach: 'all', networks })).toEqual({ allowedPrivate: null })
  expect(networkEdit(null, { reach: 'none', networks })).toEqual({ allowedPrivate: [] })
  expect(networkEdit(null, { reach: 'list', networks })).toEqual({
    allowedPrivate: ['10.1.0.0/16', '10.2.0.7'],
  })
  expect(networkEdit(null, { reach: 'list', networks: [' '] })).toBeNull()
})

test('the error of an entry stays with its text when another entry is removed', () => {
  const sent = ['10.1.0.0/16', 'office', '8.8.8.8']
  const problems = [
    { pointer: '/network/allowedPrivate/1', detail: 'must be a network' },
    { pointer: '/network/allowedPrivate/2', detail: 'must be private' },
    { pointer: '/network/allowedPrivate', detail: 'too many' },
    { pointer: '/network/allowedPrivate/9', detail: 'of no entry' },
  ]

  expect([...problemsByText(problems, sent)]).toEqual([
    ['office', 'must be a network'],
    ['8.8.8.8', 'must be private'],
  ])
})
