/**
 * Bodies: JSON in UTF-8 and nothing else, looked through before it is parsed. Parsing cannot be interrupted, so no piece of
 * text is parsed that holds more than a bounded number of values; a body that is a long list is parsed item by item.
 */

import { isUtf8 } from 'node:buffer'
import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../core/errors.ts'
import type { ListPlace } from '../../core/values/json/json-scan.ts'
import { jsonPointer } from '../../core/values/json-pointer.ts'
import type { ListItem } from '../../operations/validation/checked-items.ts'
import { mapInTurns } from '../../runtime/turns.ts'
import type { App } from '../app.ts'
import { BODY_BOUNDS, scanBody } from './validation/scan-body.ts'

/** What a body may have, where a route says nothing else. */
export const BODY_LIMIT = 1024 * 1024

type ParseText = (text: string) => unknown

/** An empty body counts as none: many clients announce JSON on every request, also on those that need no body. */
export function parseJsonBodies(app: App): void {
  const parseText = textParser(app)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, body: Buffer) => {
      if (body.length === 0) return undefined
      refuseOtherEncodings(body)
      await scanBody(body, BODY_BOUNDS)
      return parseText(body.toString())
    },
  )
}

/** A body whose one member is a list, which may be long. */
export interface ListBody {
  readonly member: string
  readonly maxItems: number
  /** Of one item as JSON. */
  readonly maxItemBytes: number
  readonly maxItemValues?: number
}

/** For the routes of a scope: their bodies come with the items of the list as `ListItem`. */
export function parseListBodies(app: App, { member, maxItems, maxItemBytes, maxItemValues }: ListBody): void {
  const parseText = textParser(app)
  const bounds = {
    depth: BODY_BOUNDS.depth,
    values: maxItemValues ?? BODY_BOUNDS.values,
    list: { name: member, items: maxItems, itemBytes: maxItemBytes, otherBytes: BODY_LIMIT },
  }
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, body: Buffer) => {
      if (body.length === 0) return undefined
      refuseOtherEncodings(body)
      const list = await scanBody(body, bounds)
      const around = list ? [body.subarray(0, list.start), body.subarray(list.end)] : [body]
      const rest = parseText(Buffer.concat(around).toString())
      if (!list) return rest
      return { ...(rest as object), [member]: await itemsOf(body, list, { member, parseText }) }
    },
  )
}

function itemsOf(
  body: Buffer,
  { start, ends }: ListPlace,
  { member, parseText }: { member: string; parseText: ParseText },
): Promise<ListItem[]> {
  return mapInTurns(ends, (end, index) => {
    const from = index === 0 ? start : (ends[index - 1] ?? 0) + 1
    const parse = () => {
      try {
        return parseText(body.toString('utf8', from, end))
      } catch {
        throw new Refusal('malformed_request', `${jsonPointer([member, index])} is not valid JSON.`)
      }
    }
    return { bytes: end - from, parse }
  })
}

/** Fastify's own parser, which refuses members that would reach for a prototype. */
function textParser(app: App): ParseText {
  const parser = app.getDefaultJsonParser('error', 'error')
  return (text) => {
    let parsed: unknown
    const done = (error: Error | null, value?: unknown) => {
      if (error) throw error
      parsed = value
    }
    parser(undefined as unknown as FastifyRequest, text, done)
    return parsed
  }
}

/** Bytes that are no UTF-8 would silently become other text. */
function refuseOtherEncodings(body: Buffer): void {
  if (!isUtf8(body)) throw new Refusal('malformed_request', 'The body is not valid UTF-8.')
}
