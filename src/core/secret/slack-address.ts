/**
 * Addresses of messages to Slack, and to servers that speak the same. Whoever knows one can write to its channel, so its tokens are stored
 * as secrets of the project, and the address refers to them. The name of such a secret follows from its value: an address that is given
 * again is stored as it was the first time, and needs no other secret.
 */
import { createHash } from 'node:crypto'
import type { Action } from '../action/action.ts'
import type { TaskDefinition } from '../task/task.ts'
import { referenceTo, secretNamesOf } from './secret-reference.ts'

/** Scheme, host and port, in which nothing is a secret. */
const ORIGIN = /^[^/]*\/\/[^/?#]*/
/**
 * Parts of a path or query that are long enough to be tokens; those of Slack have 24 characters. Percent-encoding leaves all of these
 * characters as they are, so the address that is called is the one that was given. The indexes of plain addresses know the same rule.
 */
const TOKEN = /(?<=[/?&=])[A-Za-z0-9._~-]{16,}(?=[/?&#]|$)/g
const TOKEN_NAME = /^SLACK_[0-9A-F]{16}$/

/** Tokens by the names of the secrets that they are stored as. */
export type Tokens = ReadonlyMap<string, string>

/** What is stored instead, and the tokens that it refers to. */
export interface Tokenless<T> {
  readonly value: T
  readonly tokens: Tokens
}

/** The action with references in place of tokens; null where its address holds none. */
export function tokenlessAction(action: Action): Tokenless<Action> | null {
  if (action.type !== 'slack') return null
  const origin = ORIGIN.exec(action.url)?.[0]
  if (origin === undefined) return null
  const tokens = new Map<string, string>()
  const rest = action.url.slice(origin.length).replace(TOKEN, (token) => {
    const name = nameOfToken(token)
    tokens.set(name, token)
    return referenceTo(name)
  })
  return tokens.size === 0 ? null : { value: { ...action, url: origin + rest }, tokens }
}

/** The same for a definition, which names the secrets that its action refers to. */
export function tokenlessDefinition(definition: TaskDefinition): Tokenless<TaskDefinition> | null {
  const found = tokenlessAction(definition.action)
  if (found === null) return null
  const { value: action, tokens } = found
  return { value: { ...definition, action, secrets: secretNamesOf(action) }, tokens }
}

/** Whether a secret of this name can hold the value: a name that is made from a token belongs to that token alone. */
export const mayHold = (name: string, value: string): boolean =>
  !TOKEN_NAME.test(name) || nameOfToken(value) === name

const nameOfToken = (token: string): string =>
  `SLACK_${createHash('sha256').update(token).digest('hex').slice(0, 16).toUpperCase()}`
