/** Actions on the command line: `sleep:1s`, `webhook:https://example.com/hook`, or the whole action as JSON. */
import { targetMember } from '../../core/action/action.ts'
import { isUuid } from '../../core/ids.ts'
import { readText } from './file-flag.ts'
import { readJson, readNumber, usage } from './flag-values.ts'
import type { Flags } from './task-flags.ts'

/** The flags of a program. */
export const PROGRAM_FLAGS = [
  { flag: '--arg <text>', help: 'Argument of exec; repeatable', repeats: true },
  { flag: '--env <name=value>', help: 'Environment variable of exec; repeatable', repeats: true },
  {
    flag: '--stdin <json>',
    help: 'Standard input of exec: JSON or text; @FILE reads a file, @- stdin',
    isRare: true,
  },
  { flag: '--work-file <path=file>', help: 'File of exec; repeatable', isRare: true, repeats: true },
  { flag: '--network', help: 'Let the program of exec use the network', isRare: true },
  { flag: '--no-network', help: 'Do not let the program of exec use the network', isRare: true },
  { flag: '--memory <size>', help: 'Memory of exec, such as 256MiB', isRare: true },
  { flag: '--cpus <n>', help: 'Processors of exec', isRare: true },
  { flag: '--processes <n>', help: 'Maximum number of processes of exec', isRare: true },
  { flag: '--file-size <size>', help: 'Largest file that exec may write', isRare: true },
  { flag: '--complete-on <codes>', help: 'Exit codes that complete the run', isRare: true },
  { flag: '--retry-on <codes>', help: 'Exit codes that are retried', isRare: true },
  { flag: '--fail-on <codes>', help: 'Exit codes that fail the run', isRare: true },
] as const

/** Flags that say what a task does. */
export const ACTION_FLAGS = [
  {
    flag: '--action <what>',
    help: 'sleep:1s, ping|webhook|http|slack:URL, email:ADDRESS, handler:NAME, exec:PROGRAM, or JSON',
  },
  { flag: '--method <method>', help: 'Method of http' },
  {
    flag: '--header <line>',
    help: "Header of http, such as 'accept: text/plain'; repeatable",
    repeats: true,
  },
  { flag: '--body <json>', help: 'Body of webhook and http: JSON or text; @FILE reads a file, @- stdin' },
  { flag: '--payload <json>', help: 'Payload of handler: JSON or text; @FILE reads a file, @- stdin' },
  {
    flag: '--expect <statuses>',
    help: 'Statuses of http that count as success, such as 200,3xx',
    isRare: true,
  },
  { flag: '--text <text>', help: 'Text of slack and email' },
  { flag: '--blocks <json>', help: 'Block Kit blocks of slack, as JSON', isRare: true },
  { flag: '--subject <text>', help: 'Subject of email' },
  { flag: '--html <html>', help: 'HTML of email, with or without --text; @FILE reads a file', isRare: true },
  { flag: '--to <address>', help: 'Additional recipient of email; repeatable', isRare: true, repeats: true },
  { flag: '--cc <address>', help: 'Cc recipient of email; repeatable', isRare: true, repeats: true },
  { flag: '--bcc <address>', help: 'Bcc recipient of email; repeatable', isRare: true, repeats: true },
  { flag: '--from <address>', help: 'Sender of email', isRare: true },
  { flag: '--reply-to <address>', help: 'Reply-to address of email', isRare: true },
  ...PROGRAM_FLAGS,
] as const

/** Returns a new action if `--action` is given, else the current action with the changes from the other flags. */
export async function readAction(flags: Flags, current: unknown): Promise<unknown> {
  const named = flags['action'] === undefined ? undefined : readWhat(String(flags['action']))
  const parts = await readParts(flags)
  if (named === undefined && parts === undefined) return undefined
  if (named === undefined && current === undefined)
    throw usage('The task has no action.', 'Add one, such as --action webhook:https://example.com/hook')
  const before = (named ?? current) as Record<string, unknown>
  return { ...before, ...mergedParts(before, parts), ...recipients(named, flags) }
}

/** Limits and exit codes have a flag for each member: members without a flag keep their value. */
function mergedParts(
  before: Record<string, unknown>,
  parts: Record<string, unknown> = {},
): Record<string, unknown> {
  const merged = ['limits', 'exitCodes'].filter((member) => member in parts)
  return {
    ...parts,
    ...Object.fromEntries(
      merged.map((member) => [member, { ...(before[member] as object), ...(parts[member] as object) }]),
    ),
  }
}

/** Returns the recipients of an email: the address after `email:`, and those of `--to`. */
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
  const member = targetMember(type, target)
  if (member === undefined || target === '')
    throw usage(
      `--action is '${text}'; it must have a form such as sleep:1s, ping:URL, webhook:URL, http:URL, slack:URL, email:ADDRESS, handler:NAME, exec:/PATH or exec:FILE-ID.`,
    )
  if (type === 'exec' && member === 'file' && !isUuid(target))
    throw usage(
      `--action is '${text}'; exec takes the absolute path of a command on the worker, such as exec:/usr/bin/rsync, or the id of an uploaded file.`,
      'To upload a file: belfry file upload FILE',
    )
  return { type, [member]: target }
}

/** Returns the fields of the action that other flags set; undefined if no such flag was given. */
export async function readParts(flags: Flags): Promise<Record<string, unknown> | undefined> {
  const given = Object.entries(PARTS).filter(([name]) => flags[name] !== undefined)
  const isAddressed = flags['to'] !== undefined
  if (given.length === 0 && !isAddressed) return undefined
  const parts: Record<string, unknown> = {}
  for (const [name, [path, reader]] of given) {
    const [member = '', inner] = path.split('.')
    const value = await reader(flags[name], name)
    parts[member] = inner === undefined ? value : { ...(parts[member] as object), [inner]: value }
  }
  return parts
}

type Reader = (value: unknown, name: string) => unknown

const asTyped: Reader = (value) => value
const list: Reader = (value) => (value as readonly string[]).filter((text) => text !== '')

/** Each flag, the member that it sets, and how its value is parsed. */
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
  arg: ['args', asTyped],
  env: ['env', (lines) => readVariables(lines as readonly string[])],
  stdin: ['stdin', (text) => readBody(String(text))],
  workFile: ['files', (lines) => readWorkFiles(lines as readonly string[])],
  network: ['network', (isOn) => isOn === true],
  memory: ['limits.memory', asTyped],
  cpus: ['limits.cpus', (text) => readNumber(String(text))],
  processes: ['limits.processes', (text) => readNumber(String(text))],
  fileSize: ['limits.fileSize', asTyped],
  completeOn: ['exitCodes.complete', (text) => readStatuses(String(text))],
  retryOn: ['exitCodes.retry', (text) => readStatuses(String(text))],
  failOn: ['exitCodes.fail', (text) => readStatuses(String(text))],
}

/** Parses pairs such as `NAME=value`. A single empty value removes all pairs. */
function readPairs(lines: readonly string[], flag: string, form: string): [string, string][] {
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const equals = line.indexOf('=')
      if (equals < 1) throw usage(`${flag} is '${line}'; it must have the form ${form}.`)
      return [line.slice(0, equals), line.slice(equals + 1)]
    })
}

const readVariables = (lines: readonly string[]) =>
  Object.fromEntries(readPairs(lines, '--env', 'NAME=value'))

/** Parses work files: an uploaded file by its id, or with `@` the text of a local file. */
function readWorkFiles(lines: readonly string[]): Promise<Record<string, string>[]> {
  const pairs = readPairs(lines, '--work-file', 'PATH=FILE-ID or PATH=@FILE')
  return Promise.all(
    pairs.map(async ([path, source]) =>
      source.startsWith('@') ? { path, content: await readText(source.slice(1)) } : { path, file: source },
    ),
  )
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

/** Reads JSON or text; `@file` reads a file. A text that begins with @ can be written as JSON. */
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

const IN_ACTION: Readonly<Record<string, string>> = {
  '': '--action',
  method: '--method',
  headers: '--header',
  body: '--body',
  payload: '--payload',
  expect: '--expect',
  text: '--text',
  blocks: '--blocks',
  subject: '--subject',
  html: '--html',
  cc: '--cc',
  bcc: '--bcc',
  from: '--from',
  replyTo: '--reply-to',
  args: '--arg',
  env: '--env',
  stdin: '--stdin',
  files: '--work-file',
  network: '--network',
  'limits.memory': '--memory',
  'limits.cpus': '--cpus',
  'limits.processes': '--processes',
  'limits.fileSize': '--file-size',
  'exitCodes.complete': '--complete-on',
  'exitCodes.retry': '--retry-on',
  'exitCodes.fail': '--fail-on',
}

/** Returns the flag that sets a member of the action. */
export const actionFlag = (member: string, inner: string): string =>
  member === 'env' && inner !== '' ? `--env ${inner}` : actionFlagOf(member, inner)

const actionFlagOf = (member: string, inner: string): string =>
  IN_ACTION[member] ?? IN_ACTION[`${member}.${inner}`] ?? '--action'
