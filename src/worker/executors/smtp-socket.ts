import { connect, isIP, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { SmtpServer } from '../../core/action/smtp-url.ts'
import { ForbiddenAddressError, type Judge, refusalOf, refusing } from '../../outgoing/address-guard.ts'
import { lookupBy } from '../../outgoing/names/lookup-function.ts'
import type { NameResolver } from '../../outgoing/names/name-resolver.ts'
import { isShortage, SHORTAGE_RETRY_MS } from '../../outgoing/shortage.ts'
import type { StopSignal } from '../../runtime/stop-signal.ts'

export interface SmtpSocketOptions {
  readonly server: SmtpServer
  readonly resolver: NameResolver
  /** Which addresses the server may have, if it was not configured by the operator. */
  readonly judge?: Judge | undefined
  readonly timeoutMs: number
  readonly signal: StopSignal
}

/**
 * Connects to the mail server. nodemailer would resolve the name itself, on the process's thread pool if DNS does not know it,
 * and would cache the result for five minutes. TLS is started on the socket later. If this process has run out of sockets, the
 * connection is retried until the timeout.
 */
export async function openSmtpSocket(options: SmtpSocketOptions): Promise<Socket> {
  const until = performance.now() + options.timeoutMs
  for (;;) {
    const timeoutMs = until - performance.now()
    try {
      return await openOnce({ ...options, timeoutMs })
    } catch (error) {
      if (!isShortage(error as Error) || options.signal.aborted || timeoutMs <= SHORTAGE_RETRY_MS) throw error
      await delay(SHORTAGE_RETRY_MS)
    }
  }
}

function openOnce({ server, resolver, judge, timeoutMs, signal }: SmtpSocketOptions): Promise<Socket> {
  const { host, port } = server
  const kind = isIP(host) === 0 ? undefined : judge?.(host)
  if (kind !== undefined) return Promise.reject(new ForbiddenAddressError(kind))
  return new Promise((resolve, reject) => {
    const lookup = lookupBy(resolver, judge && refusing(judge))
    const socket = connect({ host, port, lookup, noDelay: true })
    const finish = (error?: Error) => {
      clearTimeout(limit)
      socket.off('error', finish).off('connect', finish)
      signal.removeEventListener('abort', onAbort)
      if (error === undefined) return resolve(socket)
      resolver.forget(host)
      socket.on('error', () => {}).destroy()
      reject(error)
    }
    const onAbort = () => finish(new Error('aborted'))
    const limit = setTimeout(() => finish(timedOut()), timeoutMs)
    socket.on('error', finish).on('connect', () => finish(judge && refusalOf(socket, judge)))
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
  })
}

const timedOut = () => Object.assign(new Error('Connection timeout'), { code: 'ETIMEDOUT' })
