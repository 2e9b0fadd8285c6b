import { expect, test } from 'vitest'
import { deletionOf } from './secret-use.ts'

const task = { id: '01a1e128-d400-7000-8000-000000000001', name: 'sync', key: null }
const UNUSED = { usedBy: [], isInMail: false, hasMoreUsers: false }
const USED = { ...UNUSED, usedBy: [task] }
const UNDECIDED = { isForced: false, isUnread: false }

test.each([
  [USED, 'It is used by one task of this project:'],
  [
    { ...USED, usedBy: [task, task], isInMail: true },
    'It is used by the mail settings and 2 tasks of this project:',
  ],
  [{ ...USED, usedBy: [task, task], hasMoreUsers: true }, 'It is used by at least 2 tasks of this project:'],
  [{ ...UNUSED, hasMoreUsers: true }, 'It may be used by tasks of this project:'],
  [{ ...UNUSED, isInMail: true }, 'It is used by the mail settings of this project:'],
  [UNUSED, null],
])('the users of a secret are counted', (secret, words) => {
  expect(deletionOf(secret, UNDECIDED).users).toBe(words)
})

test('a secret in use is only deleted by a second decision', () => {
  expect(deletionOf(USED, UNDECIDED)).toMatchObject({
    effect: 'Runs that need it fail until it is set again.',
    isReady: false,
  })
  expect(deletionOf(USED, { ...UNDECIDED, isForced: true })).toMatchObject({ isReady: true })
})

test('nothing is deleted before it is known what uses it, and the server decides if that cannot be known', () => {
  expect(deletionOf(undefined, UNDECIDED)).toMatchObject({ users: null, isReady: false })
  expect(deletionOf(undefined, { ...UNDECIDED, isUnread: true })).toMatchObject({
    users: null,
    isReady: true,
  })
})
