/** The next page of a list whose response is a bare array, given in a `Link` header as defined by RFC 8288. */
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { isUuid } from '../../core/ids.ts'
import { Cursor } from './schemas/page.ts'

/** Other parameters are ignored, because these routes have never validated their query. */
export const NextPage = z.looseObject({
  cursor: Cursor.describe('Cursor from the `Link` header of the previous page.'),
})

export function linkNext(reply: FastifyReply, path: string, cursor: string | null): void {
  if (cursor !== null) reply.header('link', `<${path}?cursor=${cursor}>; rel="next"`)
}

export const isTaskPosition = (value: unknown): value is readonly [string] =>
  Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' && isUuid(value[0])
