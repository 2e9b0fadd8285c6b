import { EventEmitter } from 'node:events'
import type { FastifyReply } from 'fastify'
import { expect, test } from 'vitest'
import { MAX_TRANSFERS, MAX_TRANSFERS_OF_PROJECT, Transfers } from './transfers.ts'

const aReply = (destroyed: boolean) =>
  ({ raw: Object.assign(new EventEmitter(), { destroyed }) }) as unknown as FastifyReply

test('clients that disconnect before they are admitted use no place', () => {
  const transfers = new Transfers()

  for (let i = 0; i < 2 * MAX_TRANSFERS; i++) transfers.enter(aReply(true), 'uploads', 'p')
  for (let i = 0; i < MAX_TRANSFERS_OF_PROJECT; i++) transfers.enter(aReply(false), 'uploads', 'p')

  expect(() => transfers.enter(aReply(false), 'uploads', 'p')).toThrow('uploads of the project in progress')
})

test('the downloads of a project are limited, without delaying its uploads and other projects', () => {
  const transfers = new Transfers()
  const enter = (direction: 'uploads' | 'downloads', project: string) => {
    const reply = aReply(false)
    transfers.enter(reply, direction, project)
    return () => reply.raw.emit('close')
  }
  const ends = Array.from({ length: MAX_TRANSFERS_OF_PROJECT }, () => enter('downloads', 'p'))

  expect(() => enter('downloads', 'p')).toThrow('downloads of the project in progress')
  expect(() => [enter('uploads', 'p'), enter('downloads', 'q')]).not.toThrow()
  ends[0]?.()
  expect(() => enter('downloads', 'p')).not.toThrow()
})
