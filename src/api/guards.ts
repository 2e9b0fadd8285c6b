import type { FastifyRequest } from 'fastify'
import { Refusal } from '../core/errors.ts'
import type { App } from './app.ts'

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

/**
 * A page on the internet can make a browser on this machine send requests to a name that resolves to
 * 127.0.0.1. Such requests carry that name as Host; an open server must not answer them.
 */
export function guardHost(app: App): void {
  app.addHook('onRequest', async (request) => {
    const { host } = request.headers
    if (host !== undefined && LOOPBACK_HOST.test(host)) return
    throw new Refusal(
      'misdirected_request',
      'This server is open to its own machine only: ask it as localhost or 127.0.0.1.',
    )
  })
}

const MAX_DEPTH = 64

/** PostgreSQL stores neither NUL nor broken surrogate pairs; a body that holds one is refused, not mangled. */
export function guardText(app: App): void {
  app.addHook('preValidation', async (request) => {
    const where = firstBadText(request.body) ?? firstBadText(request.params) ?? firstBadText(request.query)
    if (where === undefined) return
    throw new Refusal(
      'invalid_input',
      `${where.pointer === '' ? 'the body' : where.pointer} ${where.detail}.`,
      { problems: [where] },
    )
  })
  app.addHook('onRequest', async (request: FastifyRequest) => {
    if (request.url.length > 8_192)
      throw new Refusal('malformed_request', 'The address is longer than 8192 characters.')
  })
}

function firstBadText(root: unknown): { pointer: string; detail: string } | undefined {
  const stack: { value: unknown; pointer: string; depth: number }[] = [{ value: root, pointer: '', depth: 0 }]
  for (let item = stack.pop(); item; item = stack.pop()) {
    const { value, pointer, depth } = item
    if (typeof value === 'string' && !isStorable(value)) {
      return {
        pointer,
        detail: 'contains a NUL character or half of a surrogate pair, which cannot be stored',
      }
    }
    if (typeof value !== 'object' || value === null) continue
    if (depth === MAX_DEPTH)
      return { pointer: pointer.slice(0, 200), detail: `is nested deeper than ${MAX_DEPTH} levels` }
    for (const [key, member] of Object.entries(value)) {
      if (!isStorable(key)) return { pointer, detail: 'has a field name that cannot be stored' }
      stack.push({ value: member, pointer: `${pointer}/${key.slice(0, 100)}`, depth: depth + 1 })
    }
  }
  return undefined
}

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

function isStorable(text: string): boolean {
  return !text.includes('\0') && !LONE_SURROGATE.test(text)
}
