/**
 * Keeps and shares connections to one mail server. It uses nodemailer's connection and not its pool, because a message in that
 * pool cannot be withdrawn: if its run was cancelled while the server was slow, it would still be sent later.
 *
 * A connection is idle or carries one message. It is used again after an accepted message and closed after anything else,
 * because the server's state is unknown then.
 */

import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { SmtpServer } from '../../core/action/smtp-url.ts'
import type { Judge } from '../../outgoing/address-guard.ts'
import { NameResolver } from '../../outgoing/names/name-resolver.ts'
import type { StopSignal } from '../../runtime/stop-signal.ts'
import { openSmtpSocket } from './smtp-socket.ts'

/** A message in its final form, and its recipients. */
export interface SmtpMessage {
  readonly from: string
  readonly to: readonly string[]
  readonly content: Buffer
}

/** A recipient that the server rejected. */
export interface RefusedRecipient {
  readonly address: string
  /** The server's reply, such as `550 no such user`. */
  readonly response: string
}

/** The server's reply to a message that it accepted for at least one recipient. */
export interface SmtpReceipt {
  readonly accepted: readonly string[]
  readonly refused: readonly RefusedRecipient[]
  readonly response: string
}

/** A nodemailer error, with the server's reply if there was one. */
export interface SmtpError extends Error {
  readonly code?: string
  readonly response?: string
  readonly responseCode?: number
  readonly rejectedErrors?: readonly (SmtpError & { readonly recipient?: string })[]
}

export interface SmtpPoolOptions {
  readonly server: SmtpServer
  /** Certificates to trust besides the usual ones. */
  readonly ca?: string
  /** The host name sent to the server in EHLO. */
  readonly name?: string
  /** Shared with all other code in this process that resolves names. */
  readonly resolver?: NameResolver
  /** Which addresses the server may have; all are allowed if the operator configured the server. */
  readonly judge?: Judge
}

/**
 * Maximum number of simultaneous connections, for all projects together; further messages wait for one, within their own
 * timeout. Each project has a lower limit, applied earlier, so that while the server delays the messages of some projects,
 * others still get connections.
 */
export const MAX_SMTP_CONNECTIONS = 50
/** Servers limit the messages per connection too; a new connection now and then is cheaper than a disconnect. */
export const MAX_MESSAGES_PER_CONNECTION = 100
const IDLE_MS = 10_000
const CONNECT_TIMEOUT_MS = 10_000
/** How long the server may be silent, including the time it scans a complete message for viruses. */
const SILENCE_TIMEOUT_MS = 120_000

/** The rejection for aborted sends; nobody sees it. */
const ABORTED = new Error('aborted')

interface Line {
  readonly connection: SMTPConnection
  messages: number
  idle: NodeJS.Timeout | undefined
}

export class SmtpPool {
  readonly #options: SmtpPoolOptions
  readonly #resolver: NameResolver
  readonly #idle: Line[] = []
  readonly #open = new Set<SMTPConnection>()
  /** Callers that wait for a place, in order. */
  readonly #waiting: (() => void)[] = []
  #places = MAX_SMTP_CONNECTIONS

  constructor(options: SmtpPoolOptions) {
    this.#options = options
    this.#resolver = options.resolver ?? new NameResolver()
  }

  /** Sends one message; rejects with the error, at once if the signal fires. */
  async send(message: SmtpMessage, signal: StopSignal): Promise<SmtpReceipt> {
    await this.#place(signal)
    try {
      const line = (await this.#kept(signal)) ?? (await this.#connect(signal))
      return await this.#carry(line, message, signal)
    } finally {
      this.#places++
      this.#waiting.shift()?.()
    }
  }

  /** The password that it logs in with; null if the server needs no login. */
  get password(): string | null {
    return this.#options.server.login?.password ?? null
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#open.size
  }

  /** Closes every connection at once, including those with a message in progress. */
  close(): void {
    for (const { idle } of this.#idle.splice(0)) clearTimeout(idle)
    for (const connection of this.#open) connection.close()
  }

  async #place(signal: StopSignal): Promise<void> {
    while (this.#places === 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const go = () => {
          signal.removeEventListener('abort', go)
          const index = this.#waiting.indexOf(go)
          if (index >= 0) this.#waiting.splice(index, 1)
          resolve()
        }
        this.#waiting.push(go)
        signal.addEventListener('abort', go)
      })
    }
    if (signal.aborted) {
      // It may have been woken for a place that it no longer needs, so it wakes the next.
      if (this.#places > 0) this.#waiting.shift()?.()
      throw ABORTED
    }
    this.#places--
  }

  /** Returns an idle connection that is still open. Servers close idle connections without notice, so each is checked first. */
  async #kept(signal: StopSignal): Promise<Line | undefined> {
    for (;;) {
      const line = this.#idle.pop()
      if (line === undefined) return undefined
      clearTimeout(line.idle)
      try {
        await settling(line.connection, signal, (done) => line.connection.reset(done))
        return line
      } catch (error) {
        if (signal.aborted) throw error
      }
    }
  }

  async #connect(signal: StopSignal): Promise<Line> {
    const { server, ca, name, judge } = this.#options
    const { default: Connection } = await import('nodemailer/lib/smtp-connection')
    const resolver = this.#resolver
    const socket = await openSmtpSocket({ server, resolver, judge, timeoutMs: CONNECT_TIMEOUT_MS, signal })
    const connection = new Connection({
      connection: socket,
      host: server.host,
      port: server.port,
      secure: server.isSecure,
      requireTLS: server.needsTls,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      greetingTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_TIMEOUT_MS,
      ...(name === undefined ? {} : { name }),
      ...(ca === undefined ? {} : { tls: { ca } }),
    })
    this.#open.add(connection)
    const line: Line = { connection, messages: 0, idle: undefined }
    connection.once('end', () => this.#forget(line))
    connection.on('error', () => {})
    await settling(connection, signal, (done) => connection.connect(done))
    const { login } = server
    if (login !== null) {
      const auth = { user: login.user, pass: login.password }
      await settling(connection, signal, (done) => connection.login(auth, done))
    }
    return line
  }

  async #carry(line: Line, { from, to, content }: SmtpMessage, signal: StopSignal): Promise<SmtpReceipt> {
    const { connection } = line
    const envelope = { from, to: [...to], size: content.length }
    const info = await settling<SmtpInfo>(connection, signal, (done) =>
      connection.send(envelope, content, done as never),
    )
    line.messages++
    if (line.messages >= MAX_MESSAGES_PER_CONNECTION) connection.quit()
    else this.#rest(line)
    return {
      accepted: info.accepted ?? [],
      refused: (info.rejectedErrors ?? []).map(({ recipient, response, message }) => ({
        address: recipient ?? '',
        response: response ?? message,
      })),
      response: info.response ?? '',
    }
  }

  #rest(line: Line): void {
    line.idle = setTimeout(() => {
      this.#forget(line)
      line.connection.quit()
    }, IDLE_MS)
    line.idle.unref()
    this.#idle.push(line)
  }

  #forget(line: Line): void {
    clearTimeout(line.idle)
    this.#open.delete(line.connection)
    const index = this.#idle.indexOf(line)
    if (index >= 0) this.#idle.splice(index, 1)
  }
}

interface SmtpInfo {
  readonly accepted?: readonly string[]
  readonly rejectedErrors?: NonNullable<SmtpError['rejectedErrors']>
  readonly response?: string
}

/** Performs one step on a connection. Its result, an error, the end of the connection and the signal race; the first one counts. */
function settling<T>(
  connection: SMTPConnection,
  signal: StopSignal,
  step: (done: (error?: Error | null, result?: T) => void) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const finish = (error?: Error | null, result?: T) => {
      connection.off('error', finish)
      connection.off('end', onEnd)
      signal.removeEventListener('abort', onAbort)
      if (!error) return resolve(result as T)
      connection.close()
      reject(error)
    }
    const onEnd = () => finish(Object.assign(new Error('the connection ended'), { code: 'ECONNECTION' }))
    const onAbort = () => finish(ABORTED)
    connection.on('error', finish)
    connection.on('end', onEnd)
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    else step(finish)
  })
}
