/**
 * Connections to one mail server, kept and shared. It is built on nodemailer's connection and
 * not on its pool, because a message in that pool cannot be taken back: one whose run was cancelled while the server
 * was slow would go out all the same, later.
 *
 * A connection is idle, or carries one message. It is used again after a message that was taken, and closed after
 * anything else: what state the server is in then is not worth finding out.
 */

import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { SmtpServer } from '../../core/action/smtp-url.ts'
import type { Judge } from '../../outgoing/address-guard.ts'
import { NameResolver } from '../../outgoing/names/name-resolver.ts'
import type { StopSignal } from '../../runtime/stop-signal.ts'
import { openSmtpSocket } from './smtp-socket.ts'

/** A message in its final form, and who it goes to. */
export interface SmtpMessage {
  readonly from: string
  readonly to: readonly string[]
  readonly content: Buffer
}

/** A recipient that the server did not take. */
export interface RefusedRecipient {
  readonly address: string
  /** What the server said, such as `550 no such user`. */
  readonly response: string
}

/** What the server said to a message that it took for somebody. */
export interface SmtpReceipt {
  readonly accepted: readonly string[]
  readonly refused: readonly RefusedRecipient[]
  readonly response: string
}

/** An error of nodemailer's, with what it knows of the server's answer. */
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
  /** What the server is told that we are called. */
  readonly name?: string
  /** Shared with everything else in this process that calls names. */
  readonly resolver?: NameResolver
  /** Which addresses the server may have; all of them where the operator chose it. */
  readonly judge?: Judge
}

/**
 * Connections at a time, of all projects together; further messages wait for one, inside their own time limit. Each project's
 * messages are limited to less, before they get here: while the server holds those of some, others still have connections.
 */
export const MAX_SMTP_CONNECTIONS = 50
/** Servers count messages too; a new connection now and then is cheaper than being thrown out. */
export const MAX_MESSAGES_PER_CONNECTION = 100
const IDLE_MS = 10_000
const CONNECT_TIMEOUT_MS = 10_000
/** How long the server may be silent, also after the whole message is there and it looks for viruses. */
const SILENCE_TIMEOUT_MS = 120_000

/** Given to those whose signal has fired; nobody sees it. */
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
  /** Whoever waits for a place, in order. */
  readonly #waiting: (() => void)[] = []
  #places = MAX_SMTP_CONNECTIONS

  constructor(options: SmtpPoolOptions) {
    this.#options = options
    this.#resolver = options.resolver ?? new NameResolver()
  }

  /** Sends one message; rejects with what went wrong, at once when the signal fires. */
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

  /** What it logs in with; null where it does not. */
  get password(): string | null {
    return this.#options.server.login?.password ?? null
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#open.size
  }

  /** Ends every connection at once, messages under way included. */
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
      // It may have been woken for a place that it does not take any more.
      if (this.#places > 0) this.#waiting.shift()?.()
      throw ABORTED
    }
    this.#places--
  }

  /** A connection that is idle and still there; servers close them without a word, so each is asked first. */
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

/** One step on a connection. Its answer, an error, an end and the signal race; whoever loses the race is too late. */
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
