/** Which parts of an action are secrets. Answers show a mask in their place; deleting a task erases them. */

import { hasReference, isReference, replaceReferences } from '../secret/secret-reference.ts'
import { readUrl } from '../values/read-url.ts'
import type { Action } from './action.ts'

/** Stands in answers for a secret. No header can carry these characters, and no environment variable may, so it is never a value itself. */
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

/** Whether a header of this name holds a secret: one of the words stands in it. An idempotency key only tells requests apart. */
export const isSecretHeader = (name: string): boolean =>
  SECRET_WORD.test(name) && name.toLowerCase() !== 'idempotency-key'

/** Words that end names without a separator, such as PGPASSWORD. */
const SECRET_ENDING = /(password|passwd|secret|token|apikey)$/i
/** A password inside an address, such as postgresql://user:password@host. */
const PASSWORD_IN_URL = /:\/\/[^/?#\s]*:[^/?#\s]*@/

/** Whether an environment variable holds a secret, by its name or because its value is an address with a password. */
export const isSecretVariable = (name: string, value: string): boolean =>
  isSecretHeader(name) || SECRET_ENDING.test(name) || PASSWORD_IN_URL.test(value)

/** What stands before a secret in a header without being one. */
const SCHEME = /^(bearer|basic|token|apikey|api-key)? *$/i

/** Whether a header or a variable holds nothing secret itself: it refers to secrets that are stored elsewhere. */
export const isOnlyReference = (value: string): boolean =>
  hasReference(value) && SCHEME.test(replaceReferences(value, () => ''))

/** Whether the part of an address that makes it a secret is stored elsewhere. A query behind it may hold another secret. */
const endsInReference = (url: string): boolean => isReference(/\/([^/?#]*)$/.exec(url)?.[1] ?? '')

/** Hosts on which whoever knows the path of an address can write to a channel. */
const WEBHOOK_HOSTS: ReadonlySet<string> = new Set(['hooks.slack.com', 'hooks.slack-gov.com'])

/** Whether all of an action's URL but its origin is a secret. */
export function hasSecretUrl(action: Action): action is Extract<Action, { url: string }> {
  if (!('url' in action) || endsInReference(action.url)) return false
  return (
    action.type === 'slack' ||
    (/hooks/i.test(action.url) && WEBHOOK_HOSTS.has(readUrl(action.url)?.hostname ?? ''))
  )
}
