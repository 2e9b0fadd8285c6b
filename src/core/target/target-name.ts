/**
 * Names of targets, and patterns for settings. A target is the server that a call goes to: `https://api.example.com`, with the
 * port only if it is not the default of the scheme, or `smtp://mail.example.com:587`. A pattern is a target, a host
 * (`api.example.com`, with any scheme and port) or all hosts below one (`*.example.com`).
 */
import { parseOrigin } from '../values/origin.ts'
import { readUrl } from '../values/read-url.ts'

export type ParsedTarget =
  | { readonly ok: true; readonly name: string; readonly isPattern: boolean }
  /** The reason, worded to follow the name of the field. */
  | { readonly ok: false; readonly reason: string }

/** Hosts have at most 253 characters; scheme and port come on top. */
export const MAX_TARGET_CHARACTERS = 300
export const DEFAULT_SMTP_PORT = 587

const FORMS =
  'use the form https://api.example.com, api.example.com, *.example.com or smtp://mail.example.com:587'

/** Parses a target or a pattern, in any spelling. */
export function parseTarget(text: string): ParsedTarget {
  if (text.length > MAX_TARGET_CHARACTERS)
    return { ok: false, reason: `must have at most ${MAX_TARGET_CHARACTERS} characters` }
  if (/^smtp:\/\//i.test(text)) return smtpTarget(text)
  if (text.includes('://')) return originTarget(text)
  const host = hostOf(text.startsWith('*.') ? text.slice(2) : text)
  if (host === null) return { ok: false, reason: `is not a valid target; ${FORMS}` }
  return { ok: true, name: text.startsWith('*.') ? `*.${host}` : host, isPattern: true }
}

function originTarget(text: string): ParsedTarget {
  const parsed = parseOrigin(text)
  if (!parsed.ok) return parsed
  if (parsed.origin.includes('*'))
    return { ok: false, reason: 'must not have a wildcard after a scheme; use the form *.example.com' }
  return { ok: true, name: parsed.origin, isPattern: false }
}

function smtpTarget(text: string): ParsedTarget {
  const url = readUrl(text.replace(/^smtp:/i, 'http:'))
  const isBare =
    url !== null && ['', '/'].includes(url.pathname) && `${url.username}${url.search}${url.hash}` === ''
  const port = /:(\d+)\/?$/.exec(text)?.[1] ?? DEFAULT_SMTP_PORT
  if (!isBare || url.hostname.includes('*'))
    return { ok: false, reason: 'is not a valid mail server; use the form smtp://mail.example.com:587' }
  return { ok: true, name: `smtp://${url.hostname}:${Number(port)}`, isPattern: false }
}

/** A host as URLs write it; null if the text is not a host, for example because it has a port or a path. */
function hostOf(text: string): string | null {
  const url = /^[^\s/?#@:*]+$|^\[[0-9a-f:.]+\]$/i.test(text) ? readUrl(`https://${text}`) : null
  return url === null || url.hostname === '' ? null : url.hostname
}

/** The host of a target, or of a pattern that names one. */
export const hostOfTarget = (target: string): string =>
  readUrl(target.replace(/^smtp:/, 'http:'))?.hostname ?? target

/**
 * How precisely a pattern matches a target: higher is more precise, and 0 means no match. The target itself takes precedence
 * over its host, and the host over wildcards, of which the longest takes precedence.
 */
export function precisionOf(pattern: string, target: string): number {
  if (pattern === target) return Number.MAX_SAFE_INTEGER
  if (pattern.includes('://')) return 0
  const host = hostOfTarget(target)
  if (pattern === host) return MAX_TARGET_CHARACTERS + 1
  return pattern.startsWith('*.') && host.endsWith(pattern.slice(1)) ? pattern.length : 0
}
