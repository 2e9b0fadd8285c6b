/**
 * What an action calls: `https://host[:port]`, as `URL.origin` gives it, or the mail server. Every run asks, and reading a URL costs
 * as much as the rest of a call, so what its authority means is read once: the origin depends on nothing after it.
 */
import { type Action, isLarge, type LargeAction } from './action.ts'
import type { SmtpServer } from './smtp-url.ts'
import { parseTargetUrl } from './target-url.ts'

/** Null for what calls nobody (sleep, handlers, programs), and for a call that will be refused: a URL that is not valid, or no mail server. */
export function callTargetOf(action: Action | LargeAction, smtp: () => string | null): string | null {
  switch (action.type) {
    case 'sleep':
    case 'handler':
    case 'exec':
      return null
    case 'email':
      return smtp()
    default:
      return isLarge(action) ? (action.target ?? null) : originOf(action.url)
  }
}

/** The target of a mail server. An IPv6 address stands in brackets, as in URLs. */
export const smtpTargetOf = ({ host, port }: Pick<SmtpServer, 'host' | 'port'>): string =>
  `smtp://${host.includes(':') ? `[${host}]` : host}:${port}`

const MAX_AUTHORITIES = 10_000
const known = new Map<string, string | null>()

/** What was found last. Runs that are due together mostly call the same target, and to compare is cheaper than to take apart. */
let lastAuthority = ''
let lastOrigin: string | null = null

/** The origin that a URL calls; null when it is not one that a task may call. */
export function originOf(url: string): string | null {
  if (lastOrigin !== null && url.startsWith(lastAuthority) && isEndAt(url, lastAuthority.length))
    return lastOrigin
  const end = endOfAuthority(url)
  if (end === 0) return readOrigin(url)
  const authority = end === url.length ? url : url.slice(0, end)
  const found = known.get(authority)
  if (found !== undefined) {
    lastAuthority = authority
    lastOrigin = found
    return found
  }
  const origin = readOrigin(authority)
  if (known.size >= MAX_AUTHORITIES) known.clear()
  known.set(copyOf(authority), origin)
  return origin
}

function readOrigin(url: string): string | null {
  const parsed = parseTargetUrl(url)
  return parsed.ok ? parsed.url.origin : null
}

const SPACE = 0x20
const SLASH = 0x2f
const BACKSLASH = 0x5c
const QUESTION_MARK = 0x3f
const HASH = 0x23

/** Where `https://host:port` ends; 0 for spellings that only the whole URL can be read of: further slashes, characters that are skipped. */
function endOfAuthority(url: string): number {
  const start = url.startsWith('https://') ? 8 : url.startsWith('http://') ? 7 : 0
  if (start === 0) return 0
  for (let i = start; i < url.length; i++) {
    if (url.charCodeAt(i) <= SPACE) return 0
    if (isEndAt(url, i)) return i === start ? 0 : i
  }
  return url.length
}

/** Whether an authority ends where a URL has what it has at that place. */
function isEndAt(url: string, i: number): boolean {
  if (i === url.length) return true
  const character = url.charCodeAt(i)
  return character === SLASH || character === BACKSLASH || character === QUESTION_MARK || character === HASH
}

/** A part of a text keeps all of it in memory; this does not. */
const copyOf = (text: string) => Array.from(text).join('')
