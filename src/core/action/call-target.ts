/**
 * The target of an action: `https://host[:port]`, as `URL.origin` gives it, or the mail server. Every run needs it, and parsing
 * a URL costs as much as the rest of a call, so each authority is parsed once: the origin depends on nothing after it.
 */
import { type Action, isLarge, type LargeAction } from './action.ts'
import type { SmtpServer } from './smtp-url.ts'
import { parseTargetUrl } from './target-url.ts'

/**
 * The target of an action; null if it calls no server (sleep, handlers, programs) or if the call will be rejected because the
 * URL is not valid or no mail server is set.
 */
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

/** The latest result. Runs that are due together mostly call the same target, and comparing is cheaper than parsing. */
let lastAuthority = ''
let lastOrigin: string | null = null

/** The origin that a URL calls; null if a task may not call the URL. */
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

/**
 * Index at which `https://host:port` ends; 0 if only parsing the whole URL can tell, because it has extra slashes or characters
 * that parsers skip.
 */
function endOfAuthority(url: string): number {
  const start = url.startsWith('https://') ? 8 : url.startsWith('http://') ? 7 : 0
  if (start === 0) return 0
  for (let i = start; i < url.length; i++) {
    if (url.charCodeAt(i) <= SPACE) return 0
    if (isEndAt(url, i)) return i === start ? 0 : i
  }
  return url.length
}

/** Whether the authority of a URL ends at this index. */
function isEndAt(url: string, i: number): boolean {
  if (i === url.length) return true
  const character = url.charCodeAt(i)
  return character === SLASH || character === BACKSLASH || character === QUESTION_MARK || character === HASH
}

/** Copies a text. A substring would keep the whole text in memory. */
const copyOf = (text: string) => Array.from(text).join('')
