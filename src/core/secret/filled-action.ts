/**
 * Replaces the references of an action by the values of secrets, for the attempt that performs it. Each value is written in the
 * form of its place: percent-encoded in a URL, as JSON inside JSON, as text in a text. A value that its place cannot hold is
 * rejected.
 */
import type { Action, EmailAction, ExecAction, HttpAction } from '../action/action.ts'
import { hasControlCharacters } from '../action/email-address.ts'
import { replaceReferences } from './secret-reference.ts'

/** A value that is not allowed in the place that refers to it. The message does not contain the value. */
export class UnusableSecret extends Error {
  override readonly name = 'UnusableSecret'
}

type ValueFor = (name: string) => string

export function filledAction(action: Action, valueFor: ValueFor): Action {
  switch (action.type) {
    case 'sleep':
      return action
    case 'ping':
      return { ...action, url: inUrl(action.url, valueFor) }
    case 'webhook':
      return { ...action, url: inUrl(action.url, valueFor), ...filledBody(action.body, JSON_TYPE, valueFor) }
    case 'http':
      return filledHttp(action, valueFor)
    case 'slack': {
      const { text, blocks } = action
      return {
        ...action,
        url: inUrl(action.url, valueFor),
        ...(text === undefined ? {} : { text: replaceReferences(text, valueFor) }),
        ...(blocks === undefined ? {} : { blocks: inJson(blocks, valueFor) as readonly unknown[] }),
      }
    }
    case 'email':
      return filledEmail(action, valueFor)
    case 'handler':
      return action.payload === undefined ? action : { ...action, payload: inJson(action.payload, valueFor) }
    case 'exec':
      return filledExec(action, valueFor)
  }
}

function filledExec(action: ExecAction, valueFor: ValueFor): ExecAction {
  const { env, stdin, files } = action
  return {
    ...action,
    ...(env === undefined ? {} : { env: filledEnv(env, valueFor) }),
    ...(stdin === undefined ? {} : { stdin: filledStdin(stdin, valueFor) }),
    ...(files === undefined
      ? {}
      : {
          files: files.map((file) =>
            'content' in file ? { ...file, content: replaceReferences(file.content, valueFor) } : file,
          ),
        }),
  }
}

const filledEnv = (env: Readonly<Record<string, string>>, valueFor: ValueFor): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).map(([variable, text]) => [
      variable,
      replaceReferences(text, (name) => variableValue(name, valueFor(name), variable)),
    ]),
  )

function variableValue(name: string, value: string, variable: string): string {
  if (!value.includes('\0')) return value
  throw new UnusableSecret(
    `The secret ${name} cannot be used in the environment variable ${variable}: it contains a NUL character.`,
  )
}

/** Text remains text; JSON is serialised, because the program reads text. */
const filledStdin = (stdin: unknown, valueFor: ValueFor): string =>
  typeof stdin === 'string' && !isJson(stdin)
    ? replaceReferences(stdin, valueFor)
    : inJsonText(typeof stdin === 'string' ? stdin : JSON.stringify(stdin), valueFor)

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'

function filledHttp(action: HttpAction, valueFor: ValueFor): HttpAction {
  const { headers } = action
  const type = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === 'content-type')?.[1]
  return {
    ...action,
    url: inUrl(action.url, valueFor),
    ...filledBody(action.body, type ?? JSON_TYPE, valueFor),
    ...(headers === undefined ? {} : { headers: filledHeaders(headers, valueFor) }),
  }
}

/** Reserved characters are encoded too, so that a value never adds a segment or a parameter. */
const inUrl = (url: string, valueFor: ValueFor): string =>
  replaceReferences(url, (name) => percentEncoded(valueFor(name)))

const percentEncoded = (value: string): string =>
  encodeURIComponent(value).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

const filledHeaders = (
  headers: Readonly<Record<string, string>>,
  valueFor: ValueFor,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([header, text]) => [
      header,
      replaceReferences(text, (name) => headerValue(name, valueFor(name), `the header ${header}`)),
    ]),
  )

/** Text that a header can hold. Line breaks are excluded, because they would let a value add headers. */
const HEADER_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/

function headerValue(name: string, value: string, place: string): string {
  if (HEADER_TEXT.test(value)) return value
  throw new UnusableSecret(
    `The secret ${name} cannot be used in ${place}: it contains line breaks, other control characters, or characters outside Latin-1.`,
  )
}

/** The body as text, with the values filled in; empty if there is no body. */
function filledBody(body: unknown, contentType: string, valueFor: ValueFor): { readonly body?: unknown } {
  if (body === undefined) return {}
  if (typeof body !== 'string') return { body: inJsonText(JSON.stringify(body), valueFor) }
  // In valid JSON, a reference can only be inside a string.
  if (isJson(body)) return { body: inJsonText(body, valueFor) }
  const isForm = contentType.toLowerCase().startsWith(FORM_TYPE)
  return { body: replaceReferences(body, isForm ? (name) => percentEncoded(valueFor(name)) : valueFor) }
}

const inJsonText = (text: string, valueFor: ValueFor): string =>
  replaceReferences(text, (name) => JSON.stringify(valueFor(name)).slice(1, -1))

const inJson = (value: unknown, valueFor: ValueFor): unknown =>
  JSON.parse(inJsonText(JSON.stringify(value), valueFor))

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function filledEmail(action: EmailAction, valueFor: ValueFor): EmailAction {
  const { to, cc, bcc, from, replyTo, subject, text, html } = action
  const header = (place: string) => (given: string) =>
    replaceReferences(given, (name) => lineOf(name, valueFor(name), place))
  const addresses = (place: string, given: string | readonly string[]) =>
    typeof given === 'string' ? header(place)(given) : given.map(header(place))
  return {
    ...action,
    to: addresses('the recipients', to),
    subject: header('the subject')(subject),
    ...(cc === undefined ? {} : { cc: addresses('the recipients', cc) }),
    ...(bcc === undefined ? {} : { bcc: addresses('the recipients', bcc) }),
    ...(from === undefined ? {} : { from: header('the sender')(from) }),
    ...(replyTo === undefined ? {} : { replyTo: header('the reply address')(replyTo) }),
    ...(text === undefined ? {} : { text: replaceReferences(text, valueFor) }),
    ...(html === undefined ? {} : { html: replaceReferences(html, (name) => escapedHtml(valueFor(name))) }),
  }
}

/** The value of a secret for a place that holds a single line. */
export function lineOf(name: string, value: string, place: string): string {
  if (!hasControlCharacters(value)) return value
  throw new UnusableSecret(
    `The secret ${name} cannot be used in ${place}: it contains line breaks or other control characters.`,
  )
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapedHtml = (value: string): string => value.replace(/[&<>"']/g, (c) => ENTITIES[c] ?? c)
