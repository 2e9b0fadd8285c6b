import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { REFUSALS, Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import { PROBLEM_TYPE, problemDocument } from './errors.ts'
import { BROWSER_RULES } from './security-headers.ts'

/** Responds to data that could not be parsed as HTTP, in the same form as other errors. */
export function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  // A client that does not use TLS, or only an insecure version of it, would not understand a response either.
  if (!/^(HPE|ERR_HTTP)_/.test(error.code ?? '')) return void socket.destroy()
  // Browsers open connections in advance. A response without a request would be taken for the response to the first request.
  if (socket.bytesRead === 0) return void socket.destroy()
  const refusal = refusalOf(error.code)
  const { status } = REFUSALS[refusal.code]
  const body = JSON.stringify(problemDocument(refusal, { path: '', requestId: uuidv7() }))
  if (socket.writable) {
    const headers = {
      'content-type': PROBLEM_TYPE,
      'content-length': Buffer.byteLength(body),
      connection: 'close',
      ...BROWSER_RULES,
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
  }
  socket.destroySoon()
}

function refusalOf(code: string | undefined): Refusal {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Refusal('headers_too_large', 'The headers are larger than --max-header-bytes allows.')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Refusal('malformed_request', 'The request was not received in time.')
    default:
      return new Refusal('malformed_request', 'The request is not valid HTTP.')
  }
}
