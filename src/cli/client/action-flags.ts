/** What to do, as it is typed: `sleep:1s`, `webhook:https://example.com/hook`, or the whole action as JSON. */
import { targetMember } from '../../core/action/action.ts'
import { readText } from './file-flag.ts'
import { readJson, readNumber, usage } from './flag-values.ts'
import type { Flags } from './task-flags.ts'

/** A new action when `--action` names one; else the current one with what the other flags change about it. */
export async function readAction(flags: Flags, current: unknown): Promise<unknown> {
  const named = flags['action'] === undefined ? undefined : readWhat(String(flags['action']))
  const parts = await readParts(flags)
  if (named === undefined && parts === undefined) return undefined
  if (named === undefined && current === undefined)
    throw usage('The task has no action.', 'Add one, such as --action webhook:https://example.com/hook')
  return { ...((named ?? current) as object), ...parts, ...recipients(named, flags) }
}

/** Who gets an email: who stands behind the colon, and whom `--to` names beside. */
function recipients(named: Record<string, unknown> | undefined, { to }: Flags): { to?: unknown } {
  if (to === undefined) return {}
  const first = named?.['to'] === undefined ? [] : [named['to']].flat()
  return { to: [...first, ...(to as readonly string[])] }
}

function readWhat(text: string): Record<string, unknown> {
  if (text.trimStart().startsWith('{')) {
    const whole = readJson(text)
    if (typeof whole === 'object') return whole as Record<string, unknown>
    throw usage('--action starts like JSON but is not valid JSON.')
  }
  const [, type = '', target = ''] = /^([a-z]+):(.*)$/s.exec(text) ?? []
  const member = targetMember(type)
  if (member === undefined || target === '')
    throw usage(
      `--action is '${text}'; it must have a form such as sleep:1s, ping:URL, webhook:URL, http:URL, slack:URL, email:ADDRESS or handler:NAME.`,
    )
  return { type, [member]: target }
}

/** What the flags beside `--action` say about it; nothing when there are none. */
export async function readParts(flags: Flags): Promise<Record<string, unknown> | undefined> {
  const given = Object.entries(PARTS).filter(([name]) => flags[name] !== undefined)
  const isAddressed = flags['to'] !== undefined
  if (given.length === 0 && !isAddressed) return undefined
  const read = given.map(async ([name, [member, reader]]) => [member, await reader(flags[name], name)])
  return Object.fromEntries(await Promise.all(read))
}

type Reader = (value: unknown, name: string) => unknown

const asTyped: Reader = (value) => value
const list: Reader = (value) => (value as readonly string[]).filter((text) => text !== '')

/** Each flag, the member it stands for, and how it is read. */
const PARTS: Readonly<Record<string, readonly [member: string, reader: Reader]>> = {
  method: ['method', asTyped],
  header: ['headers', (lines) => readHeaders(lines as readonly string[])],
  body: ['body', (text) => readBody(String(text))],
  payload: ['payload', (text) => readBody(String(text))],
  expect: ['expect', (text) => readStatuses(String(text))],
  text: ['text', asTyped],
  blocks: ['blocks', (text) => readBody(String(text))],
  subject: ['subject', asTyped],
  html: ['html', (text) => fromFile(String(text))],
  cc: ['cc', list],
  bcc: ['bcc', list],
  from: ['from', asTyped],
  replyTo: ['replyTo', asTyped],
  duration: ['duration', asTyped],
}

function readHeaders(lines: readonly string[]): Record<string, string> {
  const pairs = lines
    .filter((line) => line !== '')
    .map((line): [string, string] => {
      const colon = line.indexOf(':')
      if (colon < 1) throw usage(`--header is '${line}'; it must have the form 'accept: text/plain'.`)
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
    })
  return Object.fromEntries(pairs)
}

/** JSON or text; `@file` is what is in the file. A text that begins with @ can be written as JSON. */
async function readBody(text: string): Promise<unknown> {
  return readJson(await fromFile(text))
}

const fromFile = async (text: string): Promise<string> =>
  text.startsWith('@') ? readText(text.slice(1)) : text

const readStatuses = (text: string): unknown[] =>
  text
    .split(/[\s,]+/)
    .filter((status) => status !== '')
    .map(readNumber)
