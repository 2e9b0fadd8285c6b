import { EventEmitter } from 'node:events'
import type { FastifyReply } from 'fastify'
import { expect, test } from 'vitest'
import { MAX_TRANSFERS, MAX_UPLOADS_OF_PROJECT, Transfers } from './transfers.ts'

const aReply = (destroyed: boolean) =>
  ({ raw: Object.assign(new EventEmitter(), { destroyed }) }) as unknown as FastifyReply

test('clients that disconnect before they are admitted use no place', () => {
  const transfers = new Transfers()

  for (let i = 0; i < 2 * MAX_TRANSFERS; i++) transfers.enter(aReply(true))
  for (let i = 0; i < 2 * MAX_UPLOADS_OF_PROJECT; i++) transfers.enterUpload(aReply(true), 'p')
  for (let i = 0; i < MAX_UPLOADS_OF_PROJECT; i++) transfers.enterUpload(aReply(false), 'p')

  expect(() => transfers.enterUpload(aReply(false), 'p')).toThrow('uploads of the project in progress')
})
