import { expect, test } from 'vitest'
import { usersInTheWay } from './task-users.ts'

const aUser = (id: string, name: string | null = null) => ({ id, name, key: null })

test('the search for users continues where it was cut', async () => {
  const begun: (string | undefined)[] = []
  const found = await usersInTheWay('the file a', async ({ before }) => {
    begun.push(before)
    return [
      begun.length < 3
        ? { users: [], cutAt: `${begun.length}` }
        : { users: [aUser('7', 'nightly')], cutAt: null },
    ]
  })

  expect(begun).toEqual([undefined, '1', '2'])
  expect(found).toEqual({ reason: 'Tasks use the file a: nightly.', taskIds: ['7'] })
})

test('without users nothing is in the way', async () => {
  expect(await usersInTheWay('the file a', async () => [{ users: [], cutAt: null }])).toBeUndefined()
})

test('users that may have been missed are in the way', async () => {
  const found = await usersInTheWay('the file a', async () => [{ users: [], cutAt: 'always' }])

  expect(found?.reason).toContain('Too many tasks have used the file a')
  expect(found?.taskIds).toEqual([])
})

test('the message names at most five users', async () => {
  const users = Array.from({ length: 6 }, (_, i) => aUser(`${i}`))

  const found = await usersInTheWay('the file a', async () => [{ users, cutAt: null }])

  expect(found).toEqual({
    reason: 'Tasks use the file a: 0, 1, 2, 3, 4 and others.',
    taskIds: ['0', '1', '2', '3', '4'],
  })
})
