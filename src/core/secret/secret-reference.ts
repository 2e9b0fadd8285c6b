/**
 * References to secrets, `{{secret.NAME}}`, in the texts of an action. Any other `{{` is plain text. The names that an action
 * refers to are determined once, when its task is defined, so that a run without a reference costs nothing.
 */
import type { Action } from '../action/action.ts'

export const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,99}$/
export const SECRET_NAME_RULE =
  'must be 1 to 100 letters, digits, underscores or dashes, and must not start with a digit or a dash'

/** Maximum number of characters of a value. */
export const MAX_SECRET_CHARACTERS = 32_768

const OPENING = '{{secret.'
const REFERENCE = /\{\{secret\.([A-Za-z_][A-Za-z0-9_-]{0,99})\}\}/g
const ONLY_REFERENCE = /^\{\{secret\.[A-Za-z_][A-Za-z0-9_-]{0,99}\}\}$/

/** A reference as written in a text. */
export const referenceTo = (name: string): string => `${OPENING}${name}}}`

/** Whether a text refers to a secret. */
export const hasReference = (text: string): boolean => text.includes(OPENING) && text.search(REFERENCE) >= 0

/** Whether a text is one reference and nothing else. */
export const isReference = (text: string): boolean => ONLY_REFERENCE.test(text)

/** Replaces each reference of a text. */
export const replaceReferences = (text: string, by: (name: string) => string): string =>
  text.includes(OPENING) ? text.replace(REFERENCE, (_, name: string) => by(name)) : text

/** The names that an action refers to, in order and without duplicates; null if it refers to none, as most actions do. */
export function secretNamesOf(action: Action): readonly string[] | null {
  const names = namesIn(textsOf(action))
  return names.length === 0 ? null : names
}

/** The names that some texts refer to, in order and each once. */
export function namesIn(texts: readonly string[]): readonly string[] {
  const names = new Set<string>()
  for (const text of texts) {
    if (!text.includes(OPENING)) continue
    for (const [, name] of text.matchAll(REFERENCE)) if (name !== undefined) names.add(name)
  }
  return [...names].sort()
}

/** The names that a value refers to, whether it is a text or any other JSON. */
export const namesInValue = (value: unknown): readonly string[] => namesIn([jsonOf(value)])

/** Every text of an action in which references are replaced. Values other than strings are given as JSON. */
function textsOf(action: Action): readonly string[] {
  switch (action.type) {
    case 'ping':
      return [action.url]
    case 'webhook':
      return [action.url, jsonOf(action.body)]
    case 'http':
      return [action.url, jsonOf(action.body), ...Object.values(action.headers ?? {})]
    case 'slack':
      return [action.url, action.text ?? '', jsonOf(action.blocks)]
    case 'email': {
      const { to, cc = [], bcc = [], from = '', replyTo = '', subject, text = '', html = '' } = action
      return [...[to].flat(), ...[cc].flat(), ...[bcc].flat(), from, replyTo, subject, text, html] as string[]
    }
    case 'handler':
      return [jsonOf(action.payload)]
    case 'exec': {
      const contents = (action.files ?? []).map((file) => ('content' in file ? file.content : ''))
      return [...Object.values(action.env ?? {}), jsonOf(action.stdin), ...contents]
    }
    case 'sleep':
      return []
  }
}

const jsonOf = (value: unknown): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
