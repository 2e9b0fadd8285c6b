/**
 * Puts stored secrets back in place of their masks, so that a client can read an action, change it and send it back. A mask
 * stands for the stored value only if that value remains hidden and goes to the same origin or the same program; otherwise an
 * edit could disclose a secret.
 */

import type { Problem } from '../errors.ts'
import type { RunOverride } from '../run/run-override.ts'
import { jsonPointer } from '../values/json-pointer.ts'
import { readUrl } from '../values/read-url.ts'
import type { Action, ExecAction, HttpAction } from './action.ts'
import { envOf, headersOf, isHiddenVariable, maskedUrl } from './masked-action.ts'
import { hasSecretUrl, isSecretHeader, MASK } from './secret-rule.ts'

const NOTHING_STORED = `is ${MASK}, the mask of a stored secret, but no secret is stored here; send the value itself`
const ELSEWHERE = `is ${MASK}, but the stored secret is only sent to the origin it was stored for; send the value itself`

const ANOTHER_PROGRAM = `is ${MASK}, but the stored value is only given to the program it was stored for, with the same arguments, input and files; send the value itself, or refer to a secret`

/** The value to store, and a problem for each mask that has no stored value. `stored` is null for a new task. */
export interface Unmasked<T> {
  readonly value: T
  readonly problems: readonly Problem[]
}

export function unmaskedAction(given: Action, stored: Action | null): Unmasked<Action> {
  const problems: Problem[] = []
  const located = withStoredUrl(given, stored, problems)
  return { value: withStoredMembers(located, stored, problems), problems }
}

function withStoredMembers(given: Action, stored: Action | null, problems: Problem[]): Action {
  switch (given.type) {
    case 'http':
      return withStoredHeaders(given, stored, problems)
    case 'exec':
      return withStoredEnv(given, stored, problems)
    default:
      return given
  }
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

/**
 * Puts back variables only for the same program: another one, or the same one with other arguments or input, could print the
 * values.
 */
function withStoredEnv(given: ExecAction, stored: Action | null, problems: Problem[]): ExecAction {
  if (given.env === undefined || !Object.values(given.env).includes(MASK)) return given
  const known = stored === null ? {} : envOf(stored)
  const isOther = stored?.type !== 'exec' || whatRuns(stored) !== whatRuns(given)
  const env = Object.entries(given.env).map(([name, value]) => {
    if (value !== MASK) return [name, value]
    const secret = Object.hasOwn(known, name) ? known[name] : undefined
    const isStored = secret !== undefined && isHiddenVariable(name, secret)
    if (isStored && !isOther) return [name, secret]
    problems.push({ pointer: variablePointer(name), detail: isStored ? ANOTHER_PROGRAM : NOTHING_STORED })
    return [name, value]
  })
  return { ...given, env: Object.fromEntries(env) }
}

/** The members that determine what a program does with its environment. */
const whatRuns = ({ file, command, args = [], stdin, files = [] }: ExecAction): string =>
  JSON.stringify([file, command, args, stdin, files])

/** Removes masked headers from an override: for these, the run uses the headers of its task. */
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

/** Stored secret headers, by lower-case name. */
const storedSecrets = (stored: Action | null): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(stored === null ? {} : headersOf(stored))
      .filter(([name]) => isSecretHeader(name))
      .map(([name, value]) => [name.toLowerCase(), value]),
  )

const originOf = (url: string): string | undefined => readUrl(url)?.origin

const headerPointer = (name: string): string => jsonPointer(['action', 'headers', name])
const variablePointer = (name: string): string => jsonPointer(['action', 'env', name])
