/** Actions as the API shows them: with a mask in place of every secret. */

import type { RunOverride } from '../run/run-override.ts'
import { readUrl } from '../values/read-url.ts'
import type { Action } from './action.ts'
import { hasSecretUrl, isOnlyReference, isSecretHeader, isSecretVariable, MASK } from './secret-rule.ts'

/** The mask of a secret whose value differs from that in the other version. */
const CHANGED_MASK = `${MASK} (changed)`

/** Masks the secrets of an action. With `before`, secrets that differ from those of that action are marked as changed. */
export function maskedAction(action: Action, before: Action = action): Action {
  const url = hasSecretUrl(action)
    ? { url: maskedUrl(action.url) + changeOf(action.url, 'url' in before ? before.url : undefined) }
    : {}
  const headers =
    action.type === 'http' && action.headers !== undefined
      ? { headers: maskedHeaders(action.headers, headersOf(before)) }
      : {}
  const env =
    action.type === 'exec' && action.env !== undefined ? { env: maskedEnv(action.env, envOf(before)) } : {}
  return { ...action, ...url, ...headers, ...env } as Action
}

export function maskedUrl(url: string): string {
  const read = readUrl(url)
  if (read === null) return MASK
  return `${read.pathname}${read.search}${read.hash}` === '/' ? url : `${read.origin}/${MASK}`
}

/** Masks the headers that an override sets. */
export function maskedOverride(override: RunOverride): RunOverride {
  const headers = override.action?.['headers']
  if (typeof headers !== 'object' || headers === null) return override
  return { ...override, action: { ...override.action, headers: maskedHeaders(headers as Headers) } }
}

type Env = Readonly<Record<string, string>>

export const envOf = (action: Action): Env => (action.type === 'exec' ? (action.env ?? {}) : {})

const maskedEnv = (env: Env, before: Env): Env =>
  Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      isHiddenVariable(name, value) ? MASK + changeOf(value, before[name]) : value,
    ]),
  )

/** Whether responses show a mask in place of the value of a variable. */
export const isHiddenVariable = (name: string, value: string): boolean =>
  isSecretVariable(name, value) && !isOnlyReference(value)

type Headers = Readonly<Record<string, string>>

export const headersOf = (action: Action): Headers => (action.type === 'http' ? (action.headers ?? {}) : {})

const maskedHeaders = (headers: Headers, before: Headers = headers): Headers =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      isSecretHeader(name) && !isOnlyReference(value) ? MASK + changeOf(value, before[name]) : value,
    ]),
  )

const changeOf = (value: string, before: string | undefined): string =>
  before === undefined || before === value ? '' : CHANGED_MASK.slice(MASK.length)
