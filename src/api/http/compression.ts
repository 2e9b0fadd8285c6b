/**
 * Compresses long responses with gzip, for clients that accept it: this makes a list ten times smaller. Compression runs on
 * threads beside the event loop. It excludes streams of events, and files of the dashboard, which the build has compressed.
 */
import { pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import { createGzip, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'

const compress = promisify(gzip)

/** Shorter responses fit into a few packets anyway, as most responses about one task do. */
export const COMPRESSED_FROM_BYTES = 4_096
/** Twice as fast as the usual level, for answers that are a tenth longer. */
const LEVEL = 3
/**
 * Maximum number of responses that are compressed at once, each with 256 kB of memory. Beyond that, responses are sent
 * uncompressed.
 */
const MAX_AT_ONCE = 32
const WORKERS = '/v1/worker/'

export function compressAnswers(app: App): void {
  let atWork = 0
  app.addHook('onSend', async (request, reply, payload) => {
    if (!isLongJson(reply, payload)) return payload
    addVary(reply, 'accept-encoding')
    if (!isWelcome(request) || atWork >= MAX_AT_ONCE) return payload
    atWork++
    if (payload instanceof Readable) {
      reply.header('content-encoding', 'gzip')
      return pipeline(payload, createGzip({ level: LEVEL }), () => atWork--)
    }
    try {
      const compressed = await compress(payload, { level: LEVEL })
      reply.header('content-encoding', 'gzip').removeHeader('content-length')
      return compressed
    } finally {
      atWork--
    }
  })
}

/** A response may vary by several headers. */
function addVary(reply: FastifyReply, name: string): void {
  const known = reply.getHeader('vary')
  reply.header('vary', known === undefined ? name : `${known}, ${name}`)
}

/** A stream of JSON counts as long. */
function isLongJson(reply: FastifyReply, payload: unknown): payload is string | Readable {
  return (
    (payload instanceof Readable ||
      (typeof payload === 'string' && payload.length >= COMPRESSED_FROM_BYTES)) &&
    !reply.hasHeader('content-encoding') &&
    /^application\/(?:[\w.]+\+)?json\b/.test(String(reply.getHeader('content-type')))
  )
}

/**
 * A response to HEAD has no body; and workers, which send many requests and mostly from nearby, should get their response
 * without delay.
 */
const isWelcome = ({ method, url, headers }: FastifyRequest): boolean =>
  method !== 'HEAD' && !url.startsWith(WORKERS) && acceptsGzip(headers['accept-encoding'])

/** `gzip` or `*` with a weight other than zero. */
export function acceptsGzip(accepted: string | string[] | undefined): boolean {
  const weights = new Map(
    String(accepted ?? '')
      .toLowerCase()
      .split(',')
      .map((part) => {
        const [name = '', weight = ''] = part.split(';').map((word) => word.trim())
        return [name, !/^q=0(?:\.0*)?$/.test(weight)] as const
      }),
  )
  return weights.get('gzip') ?? weights.get('*') ?? false
}
