/** The mail server of an installation, as one address: `smtp://user:password@mail.example.com:587`. */
import { readUrl } from '../values/read-url.ts'

/** A mail server, and the credentials for it. */
export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** Whether TLS begins with the connection. If false, STARTTLS is used if the server offers it. */
  readonly isSecure: boolean
  /** Whether a connection without TLS must be refused, because anyone on the path could read the password. */
  readonly needsTls: boolean
  readonly login: { readonly user: string; readonly password: string } | null
}

export type ReadSmtpUrl =
  | { readonly ok: true; readonly server: SmtpServer }
  /** The reason, worded to follow the name of the setting. */
  | { readonly ok: false; readonly reason: string }

const WANTED = 'must have the form smtp://user:password@mail.example.com:587, or smtps:// for implicit TLS'
const DEFAULT_PORTS = { 'smtp:': 587, 'smtps:': 465 } as const

export function parseSmtpUrl(text: string): ReadSmtpUrl {
  const url = readUrl(text)
  if (url === null) return { ok: false, reason: WANTED }
  const { protocol, hostname, port, username, password, pathname, search, hash } = url
  if (protocol !== 'smtp:' && protocol !== 'smtps:') return { ok: false, reason: WANTED }
  if (hostname === '' || (pathname !== '' && pathname !== '/') || search !== '' || hash !== '')
    return { ok: false, reason: WANTED }
  const login = loginOf(username, password)
  if (login === undefined) return { ok: false, reason: `${WANTED}; special characters are percent-encoded` }
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const isSecure = protocol === 'smtps:'
  const needsTls = isSecure || (login !== null && !isLocal(host))
  return {
    ok: true,
    server: { host, port: Number(port || DEFAULT_PORTS[protocol]), isSecure, needsTls, login },
  }
}

function loginOf(user: string, password: string): SmtpServer['login'] | undefined {
  if (user === '' && password === '') return null
  try {
    return { user: decodeURIComponent(user), password: decodeURIComponent(password) }
  } catch {
    return undefined
  }
}

const isLocal = (host: string) => host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host)
