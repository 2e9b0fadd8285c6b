/**
 * Parses bodies: JSON in UTF-8 only, scanned before it is parsed. Parsing cannot be interrupted, so no text is parsed at once
 * that contains more than a bounded number of values; a body that is a long list is parsed item by item.
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

/** Maximum size of a body, unless a route sets another. */
export const BODY_LIMIT = 1024 * 1024

type ParseText = (text: string) => unknown

/** An empty body counts as no body: many clients send a JSON content type with every request, even if it needs no body. */
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
  /** Maximum size of one item as JSON. */
  readonly maxItemBytes: number
  readonly maxItemValues?: number
}

/** Parses the bodies of the routes in a scope: the items of the list are passed as `ListItem`. */
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

/** Returns Fastify's own parser, which rejects members that would change a prototype. */
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

/** Rejects bytes that are not UTF-8, which would otherwise silently become other text. */
function refuseOtherEncodings(body: Buffer): void {
  if (!isUtf8(body)) throw new Refusal('malformed_request', 'The body is not valid UTF-8.')
}
