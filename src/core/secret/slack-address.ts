/**
 * URLs of messages to Slack and to compatible servers. Anyone who knows such a URL can write to its channel, so its tokens are
 * stored as secrets of the project, and the stored URL refers to them. The name of such a secret is derived from its value, so
 * a URL that is given again is stored in the same form and needs no second secret.
 */
import { createHash } from 'node:crypto'
import type { Action } from '../action/action.ts'
import type { TaskDefinition } from '../task/task.ts'
import { referenceTo, secretNamesOf } from './secret-reference.ts'

/** Scheme, host and port, which contain no secrets. */
const ORIGIN = /^[^/]*\/\/[^/?#]*/
/**
 * Parts of a path or query that are long enough to be tokens; those of Slack have 24 characters. Percent-encoding changes none
 * of these characters, so the URL that is called is the one that was given. The indexes of plain addresses use the same rule.
 */
const TOKEN = /(?<=[/?&=])[A-Za-z0-9._~-]{16,}(?=[/?&#]|$)/g
const TOKEN_NAME = /^SLACK_[0-9A-F]{16}$/

/** Tokens by the names of their secrets. */
export type Tokens = ReadonlyMap<string, string>

/** The value to store, and the tokens that it refers to. */
export interface Tokenless<T> {
  readonly value: T
  readonly tokens: Tokens
}

/** Replaces tokens by references; null if the action's URL has none. */
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

/** Does the same for a definition, and updates the names of secrets that its action refers to. */
export function tokenlessDefinition(definition: TaskDefinition): Tokenless<TaskDefinition> | null {
  const found = tokenlessAction(definition.action)
  if (found === null) return null
  const { value: action, tokens } = found
  return { value: { ...definition, action, secrets: secretNamesOf(action) }, tokens }
}

/** Whether a secret of this name can have the value: a name derived from a token is reserved for that token. */
export const mayHold = (name: string, value: string): boolean =>
  !TOKEN_NAME.test(name) || nameOfToken(value) === name

const nameOfToken = (token: string): string =>
  `SLACK_${createHash('sha256').update(token).digest('hex').slice(0, 16).toUpperCase()}`
