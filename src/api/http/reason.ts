/** The reason for a change, given by the caller in the header `belfry-reason`. The audit log records it. */

import type { FastifyRequest } from 'fastify'
import { MAX_REASON_CHARACTERS, REASON_HEADER } from '../../core/audit-log/reason.ts'
import { invalidInput } from '../../core/errors.ts'

const RULE = `must be UTF-8 text of at most ${MAX_REASON_CHARACTERS} characters`

/** Node decodes header bytes as Latin-1; this decodes them as UTF-8, so that a reason may be written in any language. */
export function reasonOf({ headers }: FastifyRequest): string | null {
  const given = headers[REASON_HEADER]
  if (given === undefined || given === '') return null
  const text = utf8(String(given))
  if (text !== null && text.length <= MAX_REASON_CHARACTERS) return text
  throw invalidInput([{ pointer: REASON_HEADER, detail: RULE }])
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function utf8(bytes: string): string | null {
  try {
    return decoder.decode(Buffer.from(bytes, 'latin1'))
  } catch {
    return null
  }
}
