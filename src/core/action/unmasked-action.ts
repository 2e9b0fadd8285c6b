/**
 * Putting stored secrets back in place of their masks, so that what was read can be changed and sent back. A mask stands for
 * what the task has stored, and only where that goes on to be hidden and goes to the same origin: otherwise an edit
 * could bring a secret to light.
 */

import type { Problem } from '../errors.ts'
import type { RunOverride } from '../run/run-override.ts'
import { readUrl } from '../values/read-url.ts'
import type { Action, HttpAction } from './action.ts'
import { headersOf, maskedUrl } from './masked-action.ts'
import { hasSecretUrl, isSecretHeader, MASK } from './secret-rule.ts'

const NOTHING_STORED = `is ${MASK}, the mask of a stored secret, but no secret is stored here; send the value itself`
const ELSEWHERE = `is ${MASK}, but the stored secret is only sent to the origin it was stored for; send the value itself`

/** What is to be stored, and every mask that stands for nothing. `stored` is null for a new task. */
export interface Unmasked<T> {
  readonly value: T
  readonly problems: readonly Problem[]
}

export function unmaskedAction(given: Action, stored: Action | null): Unmasked<Action> {
  const problems: Problem[] = []
  const located = withStoredUrl(given, stored, problems)
  const value = located.type === 'http' ? withStoredHeaders(located, stored, problems) : located
  return { value, problems }
}

function withStoredUrl(given: Action, stored: Action | null, problems: Problem[]): Action {
  if (!('url' in given) || !given.url.includes(MASK)) return given
  if (stored !== null && hasSecretUrl(stored) && given.url === maskedUrl(stored.url)) {
    const restored = { ...given, url: stored.url }
    if (hasSecretUrl(restored)) return restored
  }
  problems.push({
    pointer: '/action/url',
    detail: `contains ${MASK}, the mask of a stored secret, but no secret is stored here; send the whole address`,
  })
  return given
}

function withStoredHeaders(given: HttpAction, stored: Action | null, problems: Problem[]): HttpAction {
  if (given.headers === undefined || !Object.values(given.headers).includes(MASK)) return given
  const secrets = storedSecrets(stored)
  const isElsewhere = stored !== null && 'url' in stored && originOf(stored.url) !== originOf(given.url)
  const headers = Object.entries(given.headers).map(([name, value]) => {
    if (value !== MASK) return [name, value]
    const secret = secrets.get(name.toLowerCase())
    if (secret !== undefined && !isElsewhere) return [name, secret]
    problems.push({ pointer: headerPointer(name), detail: secret === undefined ? NOTHING_STORED : ELSEWHERE })
    return [name, value]
  })
  return { ...given, headers: Object.fromEntries(headers) }
}

/** A masked header of an override is one that the run is to have as the task says. */
export function unmaskedOverride(override: RunOverride, stored: Action): Unmasked<RunOverride> {
  const given = override.action?.['headers']
  if (typeof given !== 'object' || given === null || !Object.values(given).includes(MASK))
    return { value: override, problems: [] }
  const secrets = storedSecrets(stored)
  const problems = Object.entries(given)
    .filter(([name, value]) => value === MASK && !secrets.has(name.toLowerCase()))
    .map(([name]) => ({ pointer: headerPointer(name), detail: NOTHING_STORED }))
  const headers = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== MASK))
  return { value: { ...override, action: { ...override.action, headers } }, problems }
}

/** By name in small letters. */
const storedSecrets = (stored: Action | null): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(stored === null ? {} : headersOf(stored))
      .filter(([name]) => isSecretHeader(name))
      .map(([name, value]) => [name.toLowerCase(), value]),
  )

const originOf = (url: string): string | undefined => readUrl(url)?.origin

const headerPointer = (name: string): string =>
  `/action/headers/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
