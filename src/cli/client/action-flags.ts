/** What to do, as it is typed: `sleep:1s`, `webhook:https://example.com/hook`, or the whole action as JSON. */
import { readText } from './file-flag.ts'
import { readJson, readNumber, usage } from './flag-values.ts'
import type { Flags } from './task-flags.ts'

/** The member that stands behind the colon. */
const TARGETS: Readonly<Record<string, string>> = {
  sleep: 'duration',
  ping: 'url',
  webhook: 'url',
  http: 'url',
  handler: 'name',
}

/** A new action when `--action` names one; else the current one with what the other flags change about it. */
export async function readAction(flags: Flags, current: unknown): Promise<unknown> {
  const named = flags['action'] === undefined ? undefined : readWhat(String(flags['action']))
  const parts = await readParts(flags)
  if (named === undefined && parts === undefined) return undefined
  if (named === undefined && current === undefined)
    throw usage('Nothing says what to do.', 'Add --action, such as --action webhook:https://example.com/hook')
  return { ...((named ?? current) as object), ...parts }
}

function readWhat(text: string): Record<string, unknown> {
  if (text.trimStart().startsWith('{')) {
    const whole = readJson(text)
    if (typeof whole === 'object') return whole as Record<string, unknown>
    throw usage('--action begins like JSON and is none.')
  }
  const [, type = '', target = ''] = /^([a-z]+):(.*)$/s.exec(text) ?? []
  const member = TARGETS[type]
  if (member === undefined || target === '')
    throw usage(
      `--action is '${text}'; it must be like sleep:1s, ping:URL, webhook:URL, http:URL or handler:NAME.`,
    )
  return { type, [member]: target }
}

async function readParts(flags: Flags): Promise<Record<string, unknown> | undefined> {
  const { method, header, body, payload, expect } = flags as Record<
    string,
    string | readonly string[] | undefined
  >
  const parts = {
    ...(method === undefined ? {} : { method }),
    ...(header === undefined ? {} : { headers: readHeaders(header as readonly string[]) }),
    ...(body === undefined ? {} : { body: await readBody(body as string) }),
    ...(payload === undefined ? {} : { payload: await readBody(payload as string) }),
    ...(expect === undefined ? {} : { expect: readStatuses(expect as string) }),
  }
  return Object.keys(parts).length === 0 ? undefined : parts
}

function readHeaders(lines: readonly string[]): Record<string, string> {
  const pairs = lines
    .filter((line) => line !== '')
    .map((line): [string, string] => {
      const colon = line.indexOf(':')
      if (colon < 1) throw usage(`--header is '${line}'; it must be like 'accept: text/plain'.`)
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
    })
  return Object.fromEntries(pairs)
}

/** JSON or text; `@file` is what is in the file. A text that begins with @ can be written as JSON. */
async function readBody(text: string): Promise<unknown> {
  return readJson(text.startsWith('@') ? await readText(text.slice(1)) : text)
}

const readStatuses = (text: string): unknown[] =>
  text
    .split(/[\s,]+/)
    .filter((status) => status !== '')
    .map(readNumber)
