/** Which parts of an action are secrets. Responses show a mask in their place; deleting a task erases them. */

import { hasReference, isReference, replaceReferences } from '../secret/secret-reference.ts'
import { readUrl } from '../values/read-url.ts'
import type { Action } from './action.ts'

/**
 * Replaces a secret in responses. Headers and environment variables cannot contain these characters, so the mask is never a
 * real value.
 */
export const MASK = '••••••'

const SECRET_WORDS = [
  'accesskey',
  'accesstoken',
  'apikey',
  'auth',
  'authentication',
  'authorization',
  'authtoken',
  'bearer',
  'cookie',
  'credential',
  'credentials',
  'jwt',
  'key',
  'passphrase',
  'passwd',
  'password',
  'pwd',
  'secret',
  'session',
  'token',
]

const SECRET_WORD = new RegExp(`(^|[^a-z0-9])(${SECRET_WORDS.join('|')})([^a-z0-9]|$)`, 'i')

/**
 * Whether a header of this name holds a secret: its name contains one of the words. An idempotency key is no secret; it only
 * identifies a request.
 */
export const isSecretHeader = (name: string): boolean =>
  SECRET_WORD.test(name) && name.toLowerCase() !== 'idempotency-key'

/** Words that end names without a separator, such as PGPASSWORD. */
const SECRET_ENDING = /(password|passwd|secret|token|apikey)$/i
/** A password in a URL, such as postgresql://user:password@host. */
const PASSWORD_IN_URL = /:\/\/[^/?#\s]*:[^/?#\s]*@/

/** Whether an environment variable holds a secret, by its name or because its value is a URL with a password. */
export const isSecretVariable = (name: string, value: string): boolean =>
  isSecretHeader(name) || SECRET_ENDING.test(name) || PASSWORD_IN_URL.test(value)

/** Text that may precede a secret in a header without being secret itself. */
const SCHEME = /^(bearer|basic|token|apikey|api-key)? *$/i

/** Whether the value of a header or a variable is only a reference to a stored secret, and therefore not secret itself. */
export const isOnlyReference = (value: string): boolean =>
  hasReference(value) && SCHEME.test(replaceReferences(value, () => ''))

/** Whether the secret part of a URL, the last segment of its path, is a reference. A query after it may hold another secret. */
const endsInReference = (url: string): boolean => isReference(/\/([^/?#]*)$/.exec(url)?.[1] ?? '')

/** Hosts of webhooks: anyone who knows the path of such a URL can write to a channel. */
const WEBHOOK_HOSTS: ReadonlySet<string> = new Set(['hooks.slack.com', 'hooks.slack-gov.com'])

/** Whether everything in an action's URL except the origin is secret. */
export function hasSecretUrl(action: Action): action is Extract<Action, { url: string }> {
  if (!('url' in action) || endsInReference(action.url)) return false
  return (
    action.type === 'slack' ||
    (/hooks/i.test(action.url) && WEBHOOK_HOSTS.has(readUrl(action.url)?.hostname ?? ''))
  )
}
